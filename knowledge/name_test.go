package knowledge_test

import (
	"testing"

	"github.com/pbmb/pbmb/knowledge"
)

// PII-18, PII-19, PII-23
func TestFold(t *testing.T) {
	for name, pair := range map[string]struct {
		a, b string
		same bool
	}{
		"letter case":             {"Customer", "CUSTOMER", true},
		"full width":              {"ＣＵＳＴＯＭＥＲ１", "customer1", true},
		"half-width katakana":     {"ｶﾀﾛｸﾞ", "カタログ", true},
		"half-width and a circle": {"ﾊﾟ", "パ", true},
		"Greek and Cyrillic case": {"ΣЖ", "σж", true},
		"composed and decomposed": {"Caf\u00e9", "CAFE\u0301", true},
		"accents":                 {"Name", "Náme", false},
		"spaces":                  {"Name", " Name", false},
		"punctuation":             {"Name", "Name_", false},
		"Turkish dotted capital":  {"Email", "Emaİl", false},
		"voiced and unvoiced":     {"ク", "グ", false},
	} {
		if got := knowledge.Fold(pair.a) == knowledge.Fold(pair.b); got != pair.same {
			t.Errorf("%s: %q and %q: got %v, want %v", name, pair.a, pair.b, got, pair.same)
		}
		for _, s := range []string{pair.a, pair.b} {
			if once := knowledge.Fold(s); knowledge.Fold(once) != once {
				t.Errorf("%s: folding %q twice gives %q and %q", name, s, once, knowledge.Fold(once))
			}
		}
	}
}
