package archtest_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// transports are the ways in. What they may import of the project is written out:
// declarations and the guard, who is calling, and what carries a request; nothing
// that keeps or reads data.
var transports = map[string]string{
	"server/restapi":   "tools/operation internal/requestid",
	"server/mcpserver": "tools/operation internal/requestid internal/unexpected oauth/authn oauth/protocol policies",
	"server/web":       "tools/operation internal/requestid internal/unexpected oauth/authn oauth/protocol policies server/restapi",
}

// AUTHZ-04: HTTP handlers and tools come to data by an operation's guard alone, and
// operations to a store by an interface that package wire fills.
func TestTransportsReachDataThroughOperations(t *testing.T) {
	holds(t, "transport", func(t tree) []finding {
		var out []finding
		eachImport(t, func(p *packages.Package, from, path string, f func(string, ...any) finding) {
			to, inside := t.below(path)
			allowed, isTransport := transports[from]
			ours := !inside && (strings.HasPrefix(path, "github.com/jackc/pgx") || path == "database/sql")
			switch {
			case isTransport && inside && !strings.Contains(" "+allowed+" ", " "+to+" "):
				out = append(out, f("%s imports %s: a way in reaches data through operations", from, to))
			case (isTransport || strings.HasPrefix(from, "tools/")) && ours:
				out = append(out, f("%s imports %s: it asks a database itself", from, path))
			case strings.HasPrefix(from, "tools/") && !forTests(from) && (strings.HasPrefix(to, "knowledge/store") || strings.HasPrefix(to, "oauth/")):
				out = append(out, f("%s imports %s: an operation declares the interface that it needs", from, to))
			}
		})
		return out
	})
}
