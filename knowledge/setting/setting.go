package setting

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pbmb/pbmb/knowledge"
)

// A Definition is what is said of one setting.
type Definition struct {
	Key     string // such as query.timeout_seconds
	Type    string // string, integer, number or boolean
	Doc     string
	Default string // as text; empty where there is none

	planned bool
	schema  *huma.Schema
	field   []int
}

// definitions are all of them by key, planned ones included.
var definitions = define()

func define() map[string]Definition {
	types := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	all := map[string]Definition{}
	for _, group := range reflect.VisibleFields(reflect.TypeFor[Values]()) {
		for _, f := range reflect.VisibleFields(group.Type) {
			d := Definition{
				Key: group.Tag.Get("json") + "." + f.Tag.Get("json"), Doc: f.Tag.Get("doc"),
				schema: huma.SchemaFromField(types, f, ""), field: append(slices.Clone(group.Index), f.Index...),
				planned: f.Tag.Get("planned") != "",
			}
			d.Type = d.schema.Type
			if d.schema.Default != nil {
				d.Default = fmt.Sprint(d.schema.Default)
			}
			d.schema.PrecomputeMessages()
			all[d.Key] = d
		}
	}
	return all
}

// All returns every setting that can be changed, by key.
func All() []Definition {
	var all []Definition
	for _, d := range definitions {
		if !d.planned {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b Definition) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// Find returns the setting of a key, or an error that is to be told: an
// [*UnknownError], or [ErrOperators].
func Find(key string) (Definition, error) {
	if slices.Contains(operators, key) {
		return Definition{}, ErrOperators
	}
	d, found := definitions[key]
	if !found || d.planned {
		var keys []string
		for _, d := range All() {
			keys = append(keys, d.Key)
		}
		return Definition{}, &UnknownError{key, knowledge.Nearest(key, keys, 5)}
	}
	return d, nil
}

// operators are the names that look like settings and are given by the environment
// alone (FETCH-11): who changes one decides where secrets are sent.
var operators = []string{"powerbi.authority", "powerbi.api_url", "powerbi.graph_url", "search.base_url"}

var (
	// ErrOperators is returned for an address that only the operator gives.
	ErrOperators = errors.New("this address is set by the operator, in the environment")

	// ErrOtherTenant is returned for an id of another tenant than the database's own.
	ErrOtherTenant = errors.New("this database belongs to one tenant for its whole life")
)

// An UnknownError is returned for a key of no setting.
type UnknownError struct {
	Key  string
	Near []string // the keys that are like it, best first
}

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no setting %q", e.Key) }

// An InvalidError is returned for a value that a setting does not take.
type InvalidError struct{ Definition }

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s must be %s, such as %s", e.Key, e.Rule(), e.Example())
}

// Rule says in words what the setting takes.
func (d Definition) Rule() string {
	s := d.schema
	switch {
	case len(s.Enum) > 0:
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(v)
		}
		if len(values) == 1 {
			return values[0]
		}
		return strings.Join(values[:len(values)-1], ", ") + " or " + values[len(values)-1]
	case s.Type == huma.TypeBoolean:
		return "true or false"
	case s.Type == huma.TypeInteger || s.Type == huma.TypeNumber:
		kind := "a number"
		if s.Type == huma.TypeInteger {
			kind = "a whole number"
		}
		return fmt.Sprintf("%s from %s to %s", kind, number(*s.Minimum), number(*s.Maximum))
	case s.Format == "uuid":
		return "an id of eight, four, four, four and twelve hexadecimal digits"
	}
	return "text"
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Example is a value that the setting takes.
func (d Definition) Example() string {
	if len(d.schema.Examples) > 0 {
		return fmt.Sprint(d.schema.Examples[0])
	}
	return d.Default
}

// Variable is the name of the setting in the environment.
func (d Definition) Variable() string {
	return strings.ToUpper(strings.ReplaceAll(d.Key, ".", "_"))
}

// parse reads a value as people write one, and returns it as it is saved.
func (d Definition) parse(text string) (json.RawMessage, error) {
	raw := json.RawMessage(text)
	if d.Type == huma.TypeString {
		raw = quote(text)
	}
	return raw, d.check(raw)
}

// text is the reverse of parse.
func (d Definition) text(raw json.RawMessage) string {
	var s string
	if d.Type == huma.TypeString && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func quote(text string) json.RawMessage {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always has a form
	}
	return raw
}

// check returns an [*InvalidError] for what the setting does not take.
func (d Definition) check(raw json.RawMessage) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return &InvalidError{d}
	}
	result := &huma.ValidateResult{}
	huma.Validate(nil, d.schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, value, result)
	if len(result.Errors) > 0 {
		return &InvalidError{d}
	}
	return nil
}

// A Base is what settings hold while nothing is saved. The zero value has the
// product's own defaults.
type Base struct{ given map[string]json.RawMessage }

// FromEnvironment returns the defaults with what getenv gives in their place. A
// variable is named like its setting, in capitals: QUERY_TIMEOUT_SECONDS. All that
// is wrong is in the error.
func FromEnvironment(getenv func(string) string) (Base, error) {
	b := Base{map[string]json.RawMessage{}}
	var problems []error
	for _, d := range All() {
		text := getenv(d.Variable())
		if text == "" {
			continue
		}
		raw, err := d.parse(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s must be %s, such as %s", d.Variable(), d.Rule(), d.Example()))
			continue
		}
		b.given[d.Key] = raw
	}
	return b, errors.Join(problems...)
}

// With returns the settings where those of saved, by key, are kept in the database.
// Keys of no setting are passed over: an older or a newer version may know them. A
// value that its setting does not take is an error, since no other is known to be safe.
func (b Base) With(saved map[string]json.RawMessage) (Values, error) {
	values := defaults
	for _, some := range []map[string]json.RawMessage{b.given, saved} {
		for key, raw := range some {
			d, found := definitions[key]
			if !found {
				continue
			}
			if err := d.check(raw); err != nil {
				return Values{}, fmt.Errorf("reading a setting: %w", err)
			}
			field := reflect.ValueOf(&values).Elem().FieldByIndex(d.field)
			if err := json.Unmarshal(raw, field.Addr().Interface()); err != nil {
				return Values{}, fmt.Errorf("reading the setting %s: %w", key, err)
			}
		}
	}
	return values, nil
}

// defaults are the product's own.
var defaults = func() Values {
	var v Values
	for _, d := range definitions {
		if d.schema.Default == nil {
			continue
		}
		field := reflect.ValueOf(&v).Elem().FieldByIndex(d.field)
		field.Set(reflect.ValueOf(d.schema.Default).Convert(field.Type()))
	}
	return v
}()
