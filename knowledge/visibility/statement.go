package visibility

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Statement completes a constant SQL text with the conditions of the view and
// returns it with the arguments for its placeholders. In the text,
//
//	@name            is the argument of that name
//	{datasets d}     is the condition over the row d of powerbi_dataset
//	{reach d}        is the condition that Power BI lets the caller reach it
//	{columns c t}    is the condition over the row c of powerbi_column and t of powerbi_table
//	{measures m t}   is the same for a row m of powerbi_measure
//	{pii_column c t} and {pii_measure m t} hold for what rules cover, whoever asks
//	{reads pii}      is true or false: whether the caller sees what rules cover
//	{app_ids d}      is the list of the dataset's apps
//
// Every value travels as an argument, those of the conditions too.
func (v *View) Statement(text string, named pgx.NamedArgs) (string, []any) {
	var b strings.Builder
	b.Grow(2 * len(text))
	var args Args
	numbers := make(map[string]string, len(named))
	for _, p := range partsOf(text) {
		switch {
		case p.name != "":
			number, known := numbers[p.name]
			if !known {
				value, given := named[p.name]
				if !given {
					panic(fmt.Sprintf("visibility: no argument @%s", p.name))
				}
				number = args.Add(value)
				numbers[p.name] = number
			}
			b.WriteString(number)
		case p.condition != "":
			b.WriteString(v.condition(p, args.Add))
		default:
			b.WriteString(p.text)
		}
	}
	return b.String(), args
}

func (v *View) condition(p part, arg func(any) string) string {
	if p.alias[1] == "" {
		switch p.condition {
		case "datasets":
			return v.Datasets(p.alias[0], arg)
		case "reach":
			return v.Reach(p.alias[0], arg)
		case "app_ids":
			return AppIDs(p.alias[0])
		case "reads":
			if p.alias[0] == "pii" {
				return strconv.FormatBool(v.ReadsPII())
			}
		}
	} else {
		switch p.condition {
		case "columns":
			return v.Columns(p.alias[0], p.alias[1])
		case "measures":
			return v.Measures(p.alias[0], p.alias[1])
		case "pii_column":
			return CoveredColumn(p.alias[0], p.alias[1])
		case "pii_measure":
			return CoveredMeasure(p.alias[0], p.alias[1])
		}
	}
	panic(fmt.Sprintf("visibility: no condition %q over %q", p.condition, p.alias))
}

// A part of a text is plain text, an argument's name, or a condition.
type part struct {
	text      string
	name      string
	condition string
	alias     [2]string
}

var placeholder = regexp.MustCompile(`@(\w+)|\{(\w+) (\w+)(?: (\w+))?\}`)

// completed has the parts of every text that was completed: there are as many as the
// program has constants of this kind.
var completed sync.Map

func partsOf(text string) []part {
	if known, ok := completed.Load(text); ok {
		return known.([]part)
	}
	var parts []part
	from := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		group := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return text[at[2*i]:at[2*i+1]]
		}
		parts = append(parts, part{text: text[from:at[0]]},
			part{name: group(1), condition: group(2), alias: [2]string{group(3), group(4)}})
		from = at[1]
	}
	parts = append(parts, part{text: text[from:]})
	completed.Store(text, parts)
	return parts
}
