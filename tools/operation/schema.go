package operation

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// NewTypes returns a registry of JSON Schemas under the product's own rules:
// names made of package and type, so that two packages may both have an Input,
// and lists that are never null.
func NewTypes() huma.Registry {
	return huma.NewMapRegistry("#/components/schemas/", typeName)
}

var typeArgument = regexp.MustCompile(`^(\w+)\[(.+)\]$`)

// typeName names column.ListInput "ColumnListInput", and operation.Page of
// column.Item "ColumnItemPage".
func typeName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := t.Name()
	if name == "" {
		return hint
	}
	if m := typeArgument.FindStringSubmatch(name); m != nil {
		inner := path.Base(m[2])
		pkg, typ, found := strings.Cut(inner, ".")
		if !found {
			return title(inner) + m[1]
		}
		return joinName(pkg, typ) + m[1]
	}
	return joinName(path.Base(t.PkgPath()), name)
}

func joinName(pkg, typ string) string {
	if pkg == "operation" || pkg == "." || pkg == "" {
		return title(typ)
	}
	return title(pkg) + title(typ)
}

func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// SchemaOf returns the schema of t in types, with references to other types as
// OpenAPI keeps them.
func SchemaOf(types huma.Registry, t reflect.Type) *huma.Schema {
	s := types.Schema(t, true, t.Name())
	for _, registered := range types.Map() {
		neverNull(registered)
	}
	return s
}

// neverNull makes every list of s a list and nothing else: the product answers
// empty lists where there is nothing.
func neverNull(s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
		neverNull(s.Items)
	}
	for _, p := range s.Properties {
		neverNull(p)
	}
}

// inline returns the schema of t with every reference replaced by what it refers
// to, as MCP clients need it. A type that contains itself is a contradiction in
// our own code.
func inline(t reflect.Type) *huma.Schema {
	types := NewTypes()
	root := SchemaOf(types, t)
	return inlined(types, root, nil)
}

func inlined(types huma.Registry, s *huma.Schema, above []string) *huma.Schema {
	if s == nil {
		return nil
	}
	description := s.Description
	if s.Ref != "" {
		for _, ref := range above {
			if ref == s.Ref {
				panic(fmt.Sprintf("operation: %s contains itself", s.Ref))
			}
		}
		above = append(above[:len(above):len(above)], s.Ref)
		s = types.SchemaFromRef(s.Ref)
	}
	flat := *s
	if description != "" {
		flat.Description = description
	}
	flat.Items = inlined(types, s.Items, above)
	if s.Properties != nil {
		flat.Properties = make(map[string]*huma.Schema, len(s.Properties))
		for name, p := range s.Properties {
			flat.Properties[name] = inlined(types, p, above)
		}
	}
	flat.PrecomputeMessages()
	return &flat
}
