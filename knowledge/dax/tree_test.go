package dax_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge/dax"
)

// Texts of every part of the grammar, for tests that go over all trees. The public
// models have no visual shapes, parameters and the like.
var everyPart = []string{
	"EVALUATE ADDCOLUMNS ( VALUES ( 'Date'[Year] ), \"x\", [Total] ) ORDER BY 'Date'[Year] DESC, [x] START AT 2020, @p",
	"DEFINE VAR a = 1 VAR b = { ( 1, \"x\" ), ( 2, BLANK () ) } EVALUATE FILTER ( b, ( [Value1], [Value2] ) IN b ) EVALUATE { a }",
	"DEFINE\n\t/// Adds.\n\tFUNCTION My.Add = ( a : SCALAR INT64 VAL, b : ANYREF EXPR = 1 + 2, c ) => a + b * c\nEVALUATE { My.Add ( 1, , 2 ) }",
	"DEFINE TABLE 'a''b' = ROW ( \"x]\", 1 ) WITH VISUAL SHAPE AXIS ROWS GROUP [a], [b] TOTAL [t] GROUP [c] ORDER BY [a] ASC, [b] DESC AXIS COLUMNS GROUP [d] DENSIFY \"d\" EVALUATE 'a''b'",
	"DEFINE MEASURE Sales[m]]] = VAR x = -2 ^ -2 RETURN NOT x = 1 && ( x || TRUE ) COLUMN Sales[c] = Sales[d].[Year] & dt\"2026-02-28\" MPARAMETER 'p' = { 1.5e3 } EVALUATE { [m]]] }",
	"DEFINE FUNCTION 'a b' = () => 1 EVALUATE { 1 }",
}

// trees gives every tree of the corpus with its text.
func trees(t *testing.T) map[string]dax.Node {
	t.Helper()
	all := map[string]dax.Node{}
	texts, _ := corpus(t)
	for _, text := range everyPart {
		texts = append(texts, publicText{text: text})
	}
	for _, text := range texts {
		n, err := parseAny(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text.text)
		}
		all[text.text] = n
	}
	return all
}

// children are the nodes directly below n.
func children(n dax.Node) []dax.Node {
	var list []dax.Node
	dax.Walk(n, func(x dax.Node) bool {
		if x == n {
			return true
		}
		list = append(list, x)
		return false
	})
	return list
}

// Every node knows its place: inside that of the node around it, after that of the
// node before it, in the line and column that its offset says; and the text there
// reads as the same tree. SAMPLE-05
func TestPlacesOfNodes(t *testing.T) {
	nodes := 0
	for text, root := range trees(t) {
		newlines := []int{0} // where lines start
		for i := range text {
			if text[i] == '\n' || text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
				newlines = append(newlines, i+1)
			}
		}
		var check func(n dax.Node)
		check = func(n dax.Node) {
			nodes++
			from, to := n.Pos().Offset, n.End()
			if from >= to || to > len(text) {
				t.Fatalf("%T is from %d to %d in\n%s", n, from, to, text)
			}
			line, _ := slices.BinarySearch(newlines, from+1)
			if column := len([]rune(text[newlines[line-1]:from])) + 1; n.Pos().Line != line || n.Pos().Column != column {
				t.Errorf("%T is in line %d, column %d, but says %+v, in\n%s", n, line, column, n.Pos(), text)
			}
			before := from
			for _, c := range children(n) {
				if c.Pos().Offset < before || c.End() > to {
					t.Errorf("%T at %d to %d lies outside of %T at %d to %d, or before its sibling, in\n%s", c, c.Pos().Offset, c.End(), n, from, to, text)
				}
				before = c.End()
				check(c)
			}
			x, ok := n.(dax.Expr)
			if _, tuple := n.(*dax.Tuple); !ok || tuple {
				return
			}
			again, err := dax.ParseExpr(text[from:to])
			if err != nil {
				t.Errorf("the place of %T does not parse: %v\n%s", n, err, text[from:to])
			} else if dax.Outline(again) != dax.Outline(x) {
				t.Errorf("the place of %T reads as another expression:\n%s\n%s\n%s", n, text[from:to], dax.Outline(x), dax.Outline(again))
			}
		}
		check(root)
	}
	t.Logf("%d nodes", nodes)
}

// What is formatted reads as the same tree, and formats to itself.
func TestFormattingChangesNothing(t *testing.T) {
	for text, n := range trees(t) {
		function := false
		if d, ok := n.(*dax.Definition); ok {
			n, function = d.Value, true
		}
		once := dax.Format(n)
		again, err := parseAny(publicText{text: once})
		if err != nil {
			t.Errorf("%v\nin what was formatted from\n%s\n%s", err, text, once)
			continue
		}
		if dax.Outline(again) != dax.Outline(n) {
			t.Errorf("formatted, it reads as something else (function: %v):\n%s\n%s", function, text, once)
		}
		if twice := dax.Format(again); twice != once {
			t.Errorf("formatting is not stable:\n%s\n--- then\n%s", once, twice)
		}
	}
}

// A chain of operators is walked in the order of the text.
func TestWalkGoesInTheOrderOfTheText(t *testing.T) {
	x, err := dax.ParseExpr("1 + ( 2 - 3 ) * 4 + F ( 5, 6 && 7 )")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	dax.Walk(x, func(n dax.Node) bool {
		if n, ok := n.(*dax.Number); ok {
			seen = append(seen, n.Text)
		}
		return true
	})
	if got := strings.Join(seen, " "); got != "1 2 3 4 5 6 7" {
		t.Errorf("got %s", got)
	}
}
