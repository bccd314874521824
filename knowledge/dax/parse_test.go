package dax_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge/dax"
)

func parseAny(text publicText) (dax.Node, error) {
	if text.function {
		return dax.ParseFunction("F", text.text)
	}
	words := strings.Fields(text.text)
	if len(words) > 0 && (strings.EqualFold(words[0], "EVALUATE") || strings.EqualFold(words[0], "DEFINE")) {
		return dax.ParseQuery(text.text)
	}
	return dax.ParseExpr(text.text)
}

func TestEveryExpressionOfThePublicModelsParses(t *testing.T) {
	texts := publicTexts(t)
	distinct := map[string]bool{}
	for _, text := range texts {
		if distinct[text.text] {
			continue
		}
		distinct[text.text] = true
		n, err := parseAny(text)
		if err != nil {
			var errs *dax.Errors
			if errors.As(err, &errs) {
				t.Errorf("%s:\n%s\n%s", text.from, errs.Render(), text.text)
			} else {
				t.Errorf("%s: %v", text.from, err)
			}
			continue
		}
		if d, ok := n.(*dax.Definition); ok {
			n = d.Value
		}
		once := dax.Format(n)
		again, err := parseAny(publicText{text: once})
		if err != nil {
			t.Errorf("%s: formatted text does not parse: %v\n%s", text.from, err, once)
			continue
		}
		if twice := dax.Format(again); twice != once {
			t.Errorf("%s: formatting is not stable:\n%s\n--- then\n%s", text.from, once, twice)
		}
	}
	t.Logf("%d distinct texts of %d", len(distinct), len(texts))
	if len(distinct) < 1000 {
		t.Errorf("only %d distinct texts were found: the extraction lost most of them", len(distinct))
	}
}
