package archtest_test

import (
	"go/ast"
	"go/constant"
	"regexp"
	"testing"
)

// recorder is the package whose one function records changes of the book, with the
// job that follows each.
const recorder = "knowledge/store/bookchange"

var recordsChange = regexp.MustCompile(`(?i)\binto\s+(public\.)?"?book_change\b`)

// Whatever writes the book has its changes recorded by the one function that also
// queues the job for the search.
func TestChangesOfTheBookAreRecordedInOnePlace(t *testing.T) {
	holds(t, "book", func(t tree) []finding {
		var out []finding
		for _, p := range t.packages {
			from, _ := t.below(p.PkgPath)
			if from == recorder {
				continue
			}
			inspect(p, func(n ast.Node, _ []ast.Node) {
				e, ok := n.(ast.Expr)
				if !ok {
					return
				}
				if v := p.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String && recordsChange.MatchString(constant.StringVal(v)) {
					out = append(out, t.find(p, e.Pos(), "%s records a change of the book, which is %s's alone", from, recorder))
				}
			})
		}
		return out
	})
}
