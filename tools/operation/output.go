package operation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxToolAnswer is how long each form of an answer over the connector may be, in bytes.
const MaxToolAnswer = 16 << 10

// An Output is what an operation answered, ready to be sent: Value for typed
// callers, JSON, and Text, which says the same as compact Markdown or CSV.
type Output struct {
	Value any
	JSON  json.RawMessage
	Text  string
}

// A Texter is an output that writes its own text, where Markdown is not the best form.
type Texter interface{ Text() string }

// A Cutter is an output that says what was left out of it. WasCut is called on a
// pointer to it with the rows that were kept and those that there were.
type Cutter interface {
	WasCut(kept, of int, shortened bool)
}

// render returns the output of value without a limit.
func render(value any) (*Output, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return &Output{Value: value, JSON: raw, Text: text(value)}, nil
}

// cut returns the output of value with both forms within limit bytes. Long texts
// in fields tagged cut:"text" are shortened first; only then whole rows of the
// field tagged cut:"rows" are dropped, from the end.
func cut(value any, limit int) (*Output, error) {
	out, err := render(value)
	if err != nil || fits(out, limit) {
		return out, err
	}
	kept := rowsOf(value)
	for _, longest := range []int{1000, 300, 100} {
		shorter := shorten(value, longest)
		tell(shorter, kept, kept, true)
		if out, err = render(shorter.Elem().Interface()); err != nil || fits(out, limit) {
			return out, err
		}
	}
	first := func(n int) (*Output, error) {
		fewer := withRows(shorten(value, 100), n)
		tell(fewer, n, kept, true)
		return render(fewer.Elem().Interface())
	}
	// How many rows must go: each row only adds, so this can be searched for.
	gone := sort.Search(kept, func(n int) bool {
		try, renderErr := first(kept - n)
		return renderErr != nil || fits(try, limit)
	})
	if gone == kept {
		return nil, &Error{Kind: TooLarge, Sentence: "The answer does not fit, even cut.", Next: "Ask for fewer items or columns."}
	}
	return first(kept - gone)
}

func fits(o *Output, limit int) bool { return len(o.JSON) <= limit && len(o.Text) <= limit }

func tell(v reflect.Value, kept, of int, shortened bool) {
	if c, ok := v.Interface().(Cutter); ok {
		c.WasCut(kept, of, shortened)
	}
}

func rowsOf(value any) int {
	v := reflect.ValueOf(value)
	if i := rowsField(v.Type()); i >= 0 {
		return v.Field(i).Len()
	}
	return 0
}

func rowsField(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return -1
	}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("cut") == "rows" {
			return i
		}
	}
	return -1
}

// withRows drops all but the first n rows of a pointer to an output.
func withRows(v reflect.Value, n int) reflect.Value {
	rows := v.Elem().Field(rowsField(v.Elem().Type()))
	rows.Set(rows.Slice(0, n))
	return v
}

// shorten returns a pointer to a copy of value whose tagged texts, its rows'
// included, have at most longest characters.
func shorten(value any, longest int) reflect.Value {
	p := reflect.New(reflect.TypeOf(value))
	p.Elem().Set(reflect.ValueOf(value))
	shortenIn(p.Elem(), longest)
	return p
}

func shortenIn(v reflect.Value, longest int) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		field, tag := v.Field(i), v.Type().Field(i).Tag.Get("cut")
		switch {
		case !v.Type().Field(i).IsExported():
		case field.Kind() == reflect.String && tag == "text":
			field.SetString(clip(field.String(), longest))
		case field.Kind() == reflect.Struct:
			shortenIn(field, longest)
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			copied := reflect.MakeSlice(field.Type(), field.Len(), field.Len())
			reflect.Copy(copied, field)
			for j := range copied.Len() {
				shortenIn(copied.Index(j), longest)
			}
			field.Set(copied)
		}
	}
}

// clip cuts s to longest characters, the last of which then is an ellipsis.
func clip(s string, longest int) string {
	if utf8.RuneCountInString(s) <= longest {
		return s
	}
	runes := []rune(s)
	return string(runes[:longest-1]) + "…"
}

// text writes value as compact Markdown: a line for each field, a table for a
// list of structs.
func text(value any) string {
	if t, ok := value.(Texter); ok {
		return t.Text()
	}
	var b strings.Builder
	writeFields(&b, "", reflect.ValueOf(value))
	return strings.TrimRight(b.String(), "\n")
}

type field struct {
	name  string
	value reflect.Value
}

// fieldsOf returns the fields of a struct as JSON names them, embedded ones in place.
func fieldsOf(v reflect.Value) []field {
	var fields []field
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fields = append(fields, fieldsOf(v.Field(i))...)
		case name == "-":
		case strings.Contains(options, "omit") && v.Field(i).IsZero():
		default:
			fields = append(fields, field{name, v.Field(i)})
		}
	}
	return fields
}

func writeFields(b *strings.Builder, prefix string, v reflect.Value) {
	if v.Kind() != reflect.Struct {
		b.WriteString(cell(v))
		return
	}
	for _, f := range fieldsOf(v) {
		name := prefix + f.name
		switch {
		case isRecord(f.value):
			writeFields(b, name+".", f.value)
		case f.value.Kind() == reflect.Slice && f.value.Type().Elem().Kind() == reflect.Struct:
			writeTable(b, name, f.value)
		case f.value.Kind() == reflect.String && strings.Contains(f.value.String(), "\n"):
			fmt.Fprintf(b, "%s:\n```\n%s\n```\n", name, strings.TrimRight(f.value.String(), "\n"))
		default:
			fmt.Fprintf(b, "%s: %s\n", name, cell(f.value))
		}
	}
}

func isRecord(v reflect.Value) bool {
	return v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]()
}

func writeTable(b *strings.Builder, name string, rows reflect.Value) {
	fmt.Fprintf(b, "%s: %d\n", name, rows.Len())
	if rows.Len() == 0 {
		return
	}
	// Only the columns that some row fills.
	var names []string
	seen := map[string]bool{}
	for i := range rows.Len() {
		for _, f := range fieldsOf(rows.Index(i)) {
			if !seen[f.name] && !f.value.IsZero() {
				seen[f.name] = true
			}
		}
	}
	for i := range rows.Type().Elem().NumField() {
		n, _, _ := strings.Cut(rows.Type().Elem().Field(i).Tag.Get("json"), ",")
		if seen[n] {
			names = append(names, n)
		}
	}
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(names, " | "), strings.Repeat(" --- |", len(names)))
	for i := range rows.Len() {
		cells := make([]string, len(names))
		for _, f := range fieldsOf(rows.Index(i)) {
			for j, n := range names {
				if n == f.name {
					cells[j] = tableCell(cell(f.value))
				}
			}
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

var cellEscapes = strings.NewReplacer("|", `\|`, "\r\n", " ", "\n", " ", "\r", " ")

func tableCell(s string) string { return cellEscapes.Replace(s) }

func cell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = cell(v.Index(i))
		}
		return strings.Join(parts, ", ")
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return ""
		}
		return cell(v.Elem())
	}
	if t, ok := v.Interface().(time.Time); ok {
		return t.UTC().Format(time.RFC3339)
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Sprint(v.Interface())
	}
	return string(raw)
}
