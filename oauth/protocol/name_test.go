package protocol_test

import (
	"strings"
	"testing"

	"github.com/pbmb/pbmb/oauth/protocol"
)

// OAUTH-43, OAUTH-44
func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"none":                  {"", true},
		"accents":               {"Éva Müller's Agent", true},
		"CJK":                   {"助手", true},
		"100 characters":        {strings.Repeat("é", 100), true},
		"101 characters":        {strings.Repeat("é", 101), false},
		"right-to-left":         {"evil\u202Egoog", false},
		"zero width space":      {"a\u200Bb", false},
		"a zero width joiner":   {"a\u200Db", false},
		"a byte order mark":     {"\uFEFFa", false},
		"a soft hyphen":         {"a\u00ADb", false},
		"newline":               {"a\nb", false},
		"null":                  {"a\x00b", false},
		"delete":                {"a\x7fb", false},
		"next line":             {"a\u0085b", false},
		"line separator":        {"a\u2028b", false},
		"private use":           {"a\uE000b", false},
		"a tag character":       {"a\U000E0041b", false},
		"an isolate":            {"a\u2066b", false},
		"not UTF-8":             {"a\xffb", false},
		"an ordinary emoji too": {"Agent 🤖", true},
	} {
		if err := protocol.CheckName(c.text); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
