package archtest_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// arrows has, for each folder, the folders that it may import beside itself.
var arrows = map[string][]string{
	"server":    {"tools", "oauth", "sync", "ui", "knowledge", "policies", "internal", "testdata"},
	"tools":     {"knowledge", "policies", "internal"},
	"oauth":     {"knowledge", "policies", "internal"},
	"sync":      {"knowledge", "policies", "internal", "testdata"}, // the sample tenant's company
	"ui":        {},
	"knowledge": {"policies", "internal"},
	"policies":  {"internal"},
	"internal":  {},
	"testdata":  {},
	"scripts":   {"internal"}, // what developers run
}

// arrowsBack are single imports against the arrows, each with its reason.
var arrowsBack = map[[2]string]string{
	{"internal/audit", "policies"}: "an audit row says who did it, in the vocabulary that everybody shares",
}

func TestArrows(t *testing.T) {
	holds(t, "arrows", func(t tree) []finding {
		var out []finding
		eachImport(t, func(p *packages.Package, from, path string, f func(string, ...any) finding) {
			to, inside := t.below(path)
			if !inside || arrowsBack[[2]string{from, to}] != "" {
				return
			}
			a, b := folder(from), folder(to)
			may, known := arrows[a]
			switch {
			case !known:
				out = append(out, f("%s is in none of the project's folders", from))
			case a != b && !slices.Contains(may, b) && !forTests(from):
				out = append(out, f("%s imports %s: %s stands below %s or beside it", from, to, a, b))
			}
		})
		return out
	})
}

// forCommands are the packages that the command line for people may import beside
// its own: declarations, and where REST serves them. Neither reaches data.
var forCommands = []string{"server/restapi", "tools/catalogue", "tools/operation"}

// CLI-13: what people do at a deployment knows it by HTTP alone.
func TestCommandsReachDataOverHTTP(t *testing.T) {
	holds(t, "commands", func(t tree) []finding {
		var out []finding
		eachImport(t, func(p *packages.Package, from, path string, f func(string, ...any) finding) {
			to, inside := t.below(path)
			if inside && strings.HasPrefix(from, "server/cli/") && !strings.HasPrefix(to, "server/cli/") && !slices.Contains(forCommands, to) {
				out = append(out, f("%s imports %s: commands reach a deployment over HTTP", from, to))
			}
		})
		return out
	})
}

// SECRET-06
func TestAgeIsWrapped(t *testing.T) {
	holds(t, "age", func(t tree) []finding {
		var out []finding
		eachImport(t, func(p *packages.Package, from, path string, f func(string, ...any) finding) {
			if (path == "filippo.io/age" || strings.HasPrefix(path, "filippo.io/age/")) && from != "internal/vault" {
				out = append(out, f("%s imports %s, which is internal/vault's alone", from, path))
			}
		})
		return out
	})
}

func TestHelpersStayInTests(t *testing.T) {
	holds(t, "helpers", func(t tree) []finding {
		var out []finding
		eachImport(t, func(p *packages.Package, from, path string, f func(string, ...any) finding) {
			if to, inside := t.below(path); inside && forTests(to) && !forTests(from) && folder(from) != "scripts" {
				out = append(out, f("%s imports %s, which is for tests", from, to))
			}
		})
		return out
	})
}

func folder(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

// eachImport visits the imports of every file that is no test.
func eachImport(t tree, visit func(p *packages.Package, from, path string, f func(string, ...any) finding)) {
	for _, p := range t.packages {
		from, _ := t.below(p.PkgPath)
		for _, file := range p.Syntax {
			for _, i := range file.Imports {
				visit(p, from, strings.Trim(i.Path.Value, `"`), func(format string, args ...any) finding {
					return t.find(p, i.Pos(), format, args...)
				})
			}
		}
	}
}
