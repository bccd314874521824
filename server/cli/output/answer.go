package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// An answer is what came, as its type says to read it: the fields of a record,
// and the rows of its list where it has one.
type answer struct {
	fields []field
	rows   *rows
	isList bool // it is its rows; the fields are said about them
}

// A field is a value with a name. Those of a record within it have its name in
// front.
type field struct {
	name     string
	value    any
	long     bool // a text that may have many lines
	optional bool // it is there only where it has something to say
}

// rows are the rows of a list, each with a cell for every column.
type rows struct {
	columns []string
	cells   [][]any
}

func read(raw json.RawMessage, t reflect.Type) (*answer, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // a number stays as it is written
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return nil, errors.New("the answer is not a JSON object")
	}
	a := &answer{}
	members := membersOf(t)
	for _, m := range members {
		value, given := values[m.name]
		delete(values, m.name)
		switch {
		case m.isGrid():
			a.rows, a.isList = gridOf(values["columns"], value), true
		case m.name == "columns" && slices.ContainsFunc(members, member.isGrid):
			values["columns"] = value // kept for the rows, which come after it
		case m.isList() && m.name == "items":
			a.rows, a.isList = listOf(m.of.Elem(), value), true
		case m.isList():
			if list, ok := value.([]any); ok && len(list) > 0 {
				a.fields = append(a.fields, field{name: m.name, value: listOf(m.of.Elem(), value)})
			}
		case given:
			a.fields = append(a.fields, flatten(m.name, m, value)...)
		}
	}
	if a.isList {
		delete(values, "columns")
	}
	// A newer deployment may say more than this version knows.
	for _, name := range slices.Sorted(maps.Keys(values)) {
		a.fields = append(a.fields, field{name: name, value: values[name]})
	}
	return a, nil
}

// A member is a field of a type, as JSON has it.
type member struct {
	name     string
	of       reflect.Type
	long     bool
	optional bool
}

// isGrid reports whether the member is a list of rows whose columns another member
// names.
func (m member) isGrid() bool {
	return m.name == "rows" && m.of.Kind() == reflect.Slice && m.of.Elem().Kind() == reflect.Slice
}

func (m member) isList() bool {
	return m.of.Kind() == reflect.Slice && m.of.Elem().Kind() == reflect.Struct && m.of.Elem() != reflect.TypeFor[time.Time]()
}

// membersOf lists the fields of a struct in their order, embedded ones in place.
func membersOf(t reflect.Type) []member {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var all []member
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all = append(all, membersOf(f.Type)...)
		case !f.IsExported() || name == "-" || name == "":
		default:
			all = append(all, member{name, f.Type, f.Tag.Get("cut") == "text", strings.Contains(options, "omit")})
		}
	}
	return all
}

func flatten(name string, m member, value any) []field {
	record, ok := value.(map[string]any)
	if !ok || m.of.Kind() != reflect.Struct {
		return []field{{name, value, m.long, m.optional}}
	}
	var all []field
	for _, inner := range membersOf(m.of) {
		if value, given := record[inner.name]; given {
			all = append(all, flatten(name+"."+inner.name, inner, value)...)
		}
	}
	return all
}

func listOf(t reflect.Type, value any) *rows {
	r := &rows{}
	members := membersOf(t)
	for _, m := range members {
		r.columns = append(r.columns, m.name)
	}
	list, _ := value.([]any) // nothing but a list of records comes here, or nothing at all
	for _, item := range list {
		record, _ := item.(map[string]any)
		cells := make([]any, len(members))
		for i, m := range members {
			cells[i] = record[m.name]
		}
		r.cells = append(r.cells, cells)
	}
	return r
}

func gridOf(columns, value any) *rows {
	r := &rows{}
	named, _ := columns.([]any) // as above
	for _, c := range named {
		record, _ := c.(map[string]any)
		r.columns = append(r.columns, text(record["name"]))
	}
	list, _ := value.([]any)
	for _, item := range list {
		given, _ := item.([]any)
		cells := make([]any, len(r.columns))
		copy(cells, given)
		r.cells = append(r.cells, cells)
	}
	return r
}

// notes are what a list says beside its rows; to a program, only what it should
// not miss.
func (a *answer) notes(toPerson bool) []string {
	if !a.isList {
		return nil
	}
	var notes []string
	for _, f := range a.fields {
		said := text(f.value)
		switch {
		case f.long || said == "" || strings.HasSuffix(f.name, "_id"):
		case f.name == "total":
			if said != fmt.Sprint(len(a.rows.cells)) {
				notes = append(notes, fmt.Sprintf("%d of %s", len(a.rows.cells), said))
			}
		case f.name == "next_cursor":
			notes = append(notes, "the next page: --cursor "+said)
		case f.name == "note" || f.name == "notice":
			notes = append(notes, said)
		case toPerson || f.optional:
			notes = append(notes, strings.ReplaceAll(f.name, "_", " ")+": "+said)
		}
	}
	return notes
}

// text is a value as a cell has it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	case []any:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = text(p)
		}
		return strings.Join(parts, ", ")
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // it was JSON before
	return strings.TrimSpace(b.String())
}
