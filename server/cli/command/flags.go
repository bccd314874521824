package command

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pbmb/pbmb/tools/operation"
)

// flags are the fields of an input that have no place of their own in the line.
type flags struct {
	set      *pflag.FlagSet
	schema   *huma.Schema
	fields   []string
	texts    map[string]*string
	lists    map[string]*[]string
	required []string
}

func newFlags(c *cobra.Command, d *operation.Def, args []argument) *flags {
	f := &flags{set: c.Flags(), schema: d.Input, texts: map[string]*string{}, lists: map[string]*[]string{}}
	for _, field := range slices.Sorted(maps.Keys(d.Input.Properties)) {
		if d.Input.Properties[field].WriteOnly || slices.ContainsFunc(args, func(a argument) bool { return a.name == field }) {
			continue
		}
		f.fields = append(f.fields, field)
		name, s := flagName(field), d.Input.Properties[field]
		isRequired := slices.Contains(d.Input.Required, field)
		if isRequired {
			f.required = append(f.required, field)
		}
		switch {
		case s.Type == huma.TypeArray && s.Items != nil && s.Items.Type == huma.TypeString:
			f.lists[field] = f.set.StringArray(name, nil, usage(s, isRequired)+"; repeatable")
		case s.Type == huma.TypeBoolean:
			// A boolean is given by its name alone.
			flag := f.text(field, name, usage(s, isRequired))
			flag.NoOptDefVal = "true"
		default:
			f.text(field, name, usage(s, isRequired))
		}
		if len(s.Enum) > 0 {
			// It was declared just now, and the completion is the only one.
			_ = c.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return strings.Split(choices(s), ", "), cobra.ShellCompDirectiveNoFileComp
			})
		}
	}
	return f
}

// text declares a flag whose value is kept as it is given and converted when the
// command runs, so that one function says what is wrong with arguments and flags.
func (f *flags) text(field, name, usage string) *pflag.Flag {
	value := new(string)
	f.texts[field] = value
	f.set.Var(&kind{value, typeName(f.schema.Properties[field])}, name, usage)
	return f.set.Lookup(name)
}

// A kind is a text flag that help shows with the type of its field.
type kind struct {
	value *string
	name  string
}

func (k *kind) String() string     { return *k.value }
func (k *kind) Set(s string) error { *k.value = s; return nil }
func (k *kind) Type() string       { return k.name }

func typeName(s *huma.Schema) string {
	switch {
	case s.Type == huma.TypeInteger, s.Type == huma.TypeNumber:
		return "number"
	case s.Type == huma.TypeBoolean:
		return "bool"
	case s.Format == "date-time":
		return "time"
	case s.Type == huma.TypeString:
		return "text"
	}
	return "json"
}

func usage(s *huma.Schema, isRequired bool) string {
	text := s.Description
	if len(s.Enum) > 0 {
		text += ": " + choices(s)
	}
	if s.Default != nil {
		text += fmt.Sprintf(" (default %v)", s.Default)
	}
	if isRequired {
		text += " (required)"
	}
	return text
}

// values are the fields that the command line gives.
func (f *flags) values(input io.Reader) (map[string]any, error) {
	given := map[string]any{}
	for _, field := range f.fields {
		name := flagName(field)
		switch {
		case !f.set.Changed(name):
			if slices.Contains(f.required, field) {
				return nil, usagef("--%s is missing: %s", name, f.schema.Properties[field].Description)
			}
		case f.lists[field] != nil:
			given[field] = *f.lists[field]
		default:
			value, err := convert(f.schema.Properties[field], "--"+name, *f.texts[field], input)
			if err != nil {
				return nil, err
			}
			given[field] = value
		}
	}
	return given, nil
}
