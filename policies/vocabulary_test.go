package policies_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/pbmb/pbmb/policies"
)

// A kind or an action that this package declares is in the vocabulary, so that no
// test over the vocabulary misses one.
func TestTheVocabularyHasEveryConstant(t *testing.T) {
	t.Parallel()
	known := map[string][]string{}
	for kind, actions := range policies.Vocabulary() {
		known["Kind"] = append(known["Kind"], string(kind))
		for _, a := range actions {
			known["Action"] = append(known["Action"], string(a))
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "policies.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		typ, ok := spec.Type.(*ast.Ident)
		if !ok || typ.Name != "Kind" && typ.Name != "Action" {
			return true
		}
		for _, v := range spec.Values {
			literal, ok := v.(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s is no literal", spec.Names[0])
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			found++
			if !slices.Contains(known[typ.Name], value) {
				t.Errorf("the %s %q is not in the vocabulary", typ.Name, value)
			}
		}
		return true
	})
	if found < 25 {
		t.Errorf("only %d constants were found", found)
	}
}
