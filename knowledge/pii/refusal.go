package pii

import (
	"fmt"
	"slices"
	"strings"
)

// A Cause is why a query is refused.
type Cause string

const (
	Marked                Cause = "marked"                  // a marked column or measure
	Joined                Cause = "joined"                  // a column that a relationship joins to a marked one
	Keyed                 Cause = "keyed"                   // a column of a table that is keyed by a marked value
	Derived               Cause = "derived"                 // a calculated column that holds marked values
	WholeTable            Cause = "whole_table"             // a whole table that has any of these
	ValueMeasure          Cause = "value_measure"           // a measure that can give a marked value back, not reviewed
	Item                  Cause = "calculation_item"        // a calculation group whose DAX reaches marked columns
	UserFunction          Cause = "user_function"           // a function of the model that does
	Reader                Cause = "reader"                  // a function that reads the model beyond its arguments
	NotKnown              Cause = "not_known"               // a name that the mirror does not know
	Unreadable            Cause = "unreadable"              // DAX that cannot be read with certainty
	RelationshipsNotKnown Cause = "relationships_not_known" // nobody has read them yet
	ItemsNotKnown         Cause = "items_not_known"         // nor what calculation groups do
	FunctionsNotKnown     Cause = "functions_not_known"     // nor the functions of the model
)

// A Finding is one thing in a query that is refused. Its element is what the query
// used, spelled as in the model; never what lies behind it.
type Finding struct {
	Cause        Cause
	Element      string
	Line, Column int
}

// A Refusal says why a query is not run for someone who may not read personal
// data.
type Refusal struct {
	Cause    Cause     // the first of the findings
	Elements []string  // each once: columns, measures, tables, functions and unknown names
	Findings []Finding // in the order of the query, each element once for a cause
	Detail   string    // of an unreadable query: what is wrong, with line and column
}

// PII are the elements that the refusal names as personal data: columns, measures
// and tables that the query used.
func (r *Refusal) PII() []string {
	return r.named(Marked, Joined, Keyed, Derived, ValueMeasure, Item, WholeTable)
}

func (r *Refusal) named(causes ...Cause) []string {
	var list []string
	seen := map[string]bool{}
	for _, f := range r.Findings {
		for _, c := range causes {
			if f.Cause == c && !seen[f.Element] {
				seen[f.Element] = true
				list = append(list, f.Element)
			}
		}
	}
	return list
}

// Sentence tells the person in one sentence what was refused and the ways out of
// it.
func (r *Refusal) Sentence() string {
	columns := r.named(Marked, Joined, Keyed, Derived, Item)
	whole := r.named(WholeTable)
	measures := r.named(ValueMeasure)
	functions := r.named(Reader, UserFunction)
	unknown := r.named(NotKnown)

	var why, ways []string
	if len(columns)+len(whole) > 0 {
		parts := columns
		if len(whole) > 0 {
			word := "the whole table "
			if len(whole) > 1 {
				word = "the whole tables "
			}
			parts = append(parts[:len(parts):len(parts)], word+and(whole))
		}
		why = append(why, "it uses personal data: "+and(parts))
		if len(r.named(Marked, Joined, Keyed, Derived, WholeTable)) > 0 {
			ways = append(ways, "query other columns of that table by name")
		}
	}
	if len(measures) > 0 {
		why = append(why, and(measures)+" can show personal data and awaits review")
		ways = append(ways, "have an admin review it")
	}
	if len(functions) > 0 {
		why = append(why, and(functions)+" can read personal data that the query does not name")
		ways = append(ways, "leave it out")
	}
	if len(unknown) > 0 {
		why = append(why, "the names here do not include "+and(unknown)+", which may be personal data")
		ways = append(ways, "check the spelling or try again after the next sync")
	}
	var unread []string
	for _, f := range r.Findings {
		switch f.Cause {
		case Unreadable:
			why = append(why, "it cannot be read with certainty ("+r.Detail+") and the dataset has personal data")
			ways = append(ways, "correct it and query columns by name")
		case RelationshipsNotKnown:
			unread = append(unread, "relationships")
		case ItemsNotKnown:
			unread = append(unread, "calculation groups")
		case FunctionsNotKnown:
			unread = append(unread, "functions")
		}
	}
	if unread = unique(unread); len(unread) > 0 {
		why = append(why, "the "+and(unread)+" of the dataset, which has personal data, have not been read yet")
		ways = append(ways, "try again in a few minutes")
	}
	return fmt.Sprintf("The query was not run because %s; %s, or ask an admin to grant you the role pii_reader.",
		strings.Join(why, "; "), strings.Join(ways, ", "))
}

// unique keeps the first of equal words.
func unique(words []string) []string {
	var out []string
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// and joins names for a sentence.
func and(names []string) string {
	const most = 20
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
