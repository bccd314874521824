package doctest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const threatModel = "docs/threat-model.md"

// parts cuts text at its headings of one level, in order.
func parts(text, mark string) (names []string, bodies map[string]string) {
	bodies = map[string]string{}
	for i, part := range strings.Split("\n"+text, "\n"+mark+" ") {
		if i == 0 {
			continue
		}
		name, body, _ := strings.Cut(part, "\n")
		names, bodies[name] = append(names, name), body
	}
	return names, bodies
}

// rows are the cells of a table's rows, without its head.
func rows(text string) (all [][]string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "|") {
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			all = append(all, cells)
		}
	}
	return all[min(2, len(all)):]
}

// items are the entries of a list, each on its line.
func items(text string) (all []string) {
	for line := range strings.Lines(text) {
		if item, ok := strings.CutPrefix(line, "- "); ok {
			all = append(all, strings.TrimSpace(item))
		}
	}
	return all
}

// anchor is what a heading is linked by.
func anchor(heading string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r == ' ', r == '-':
			return '-'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(heading))
	return kept
}

const pending = "**pending**"

// DOC-01, DOC-03, DOC-09
func TestThreatModelHasItsParts(t *testing.T) {
	text := read(t, threatModel)
	top, bodies := parts(text, "##")
	want := []string{"Assets", "Trusted", "Attackers", "Boundaries", "Residual risks", "What changes this page"}
	if !slices.Equal(top, want) {
		t.Errorf("the headings are %q, want %q", top, want)
	}

	summary := read(t, "docs/spec/README.md")
	if !strings.Contains(summary, threatModel) {
		t.Error("the specification does not lead to the threat model")
	}
	var boundaries []string
	for _, cells := range rows(summary[strings.Index(summary, "| Boundary |"):]) {
		boundaries = append(boundaries, cells[0]+" "+cells[1])
	}
	names, sections := parts(bodies["Boundaries"], "###")
	if len(names) != 13 || !slices.Equal(names, boundaries) {
		t.Errorf("the boundaries are\n%q, and the specification's\n%q", names, boundaries)
	}
	for name, section := range sections {
		_, section, _ = strings.Cut(section, "**Crossing.**")
		crossing, rest, _ := strings.Cut(section, "**Controls.**")
		controls, tests, _ := strings.Cut(rest, "**Tests.**")
		if strings.TrimSpace(crossing) == "" || len(items(controls)) == 0 || strings.TrimSpace(tests) == "" {
			t.Errorf("%s lacks a crossing, controls or tests", name)
		}
		built := slices.ContainsFunc(items(controls), func(c string) bool { return !strings.HasPrefix(c, pending) })
		if cited := len(citations(tests)); built != (cited > 0) {
			t.Errorf("%s cites %d tests: what is built has one, and what is not has none", name, cited)
		}
	}
}

// A citation names a test, and perhaps one of its cases.
type citation struct{ folder, test, name string }

var citationForm = regexp.MustCompile(`^([a-z0-9_/]+): (Test\w+)(?: "([^"]+)")?$`)

// citations finds what is cited in text. One that is not in the form has no folder.
func citations(text string) (all []citation) {
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`\bTest[A-Z]`).MatchString(m[1]) {
			continue
		}
		c := citation{test: m[1]}
		if form := citationForm.FindStringSubmatch(m[1]); form != nil {
			c = citation{form[1], form[2], form[3]}
		}
		all = append(all, c)
	}
	return all
}

// A folder has the tests of one package, and every text that may name a case: it
// stands in its test, or in a table elsewhere in the package.
type folder struct{ tests, texts map[string]bool }

func readFolder(path string) (folder, error) {
	f := folder{map[string]bool{}, map[string]bool{}}
	files, err := filepath.Glob(filepath.Join(root, path, "*_test.go"))
	if err != nil {
		return f, err
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return f, err
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && len(d.Type.Params.List) == 1 {
				f.tests[d.Name.Name] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					f.texts[text] = true
				}
			}
			return true
		})
	}
	return f, nil
}

// A finder looks for cited tests, and reads each folder once.
type finder map[string]folder

func (all finder) find(c citation) error {
	if c.folder == "" {
		return fmt.Errorf("%s is not cited as folder: Test", c.test)
	}
	if _, known := all[c.folder]; !known {
		f, err := readFolder(c.folder)
		if err != nil {
			return err
		}
		all[c.folder] = f
	}
	switch f := all[c.folder]; {
	case !f.tests[c.test]:
		return fmt.Errorf("%s has no test %s", c.folder, c.test)
	case c.name != "" && !f.texts[c.name]:
		return fmt.Errorf("%s in %s has no case %q", c.test, c.folder, c.name)
	}
	return nil
}

// DOC-02, its first direction
func TestCitedTestsExist(t *testing.T) {
	all := citations(read(t, threatModel))
	if len(all) < 50 {
		t.Errorf("only %d tests are cited", len(all))
	}
	sources := finder{}
	for _, c := range all {
		if err := sources.find(c); err != nil {
			t.Error(err)
		}
	}

	for text, want := range map[string]string{
		"`internal/doctest: TestCitedTestsExist`":                                             "",
		"`internal/doctest: TestLimitsOfPersonalData \"PII-06 object-level security stays\"`": "",
		"`internal/doctest: TestThatWasRemoved`":                                              "has no test",
		"`internal/nowhere: TestCitedTestsExist`":                                             "has no test",
		"`internal/doctest: TestCitedTestsExist \"of\" + \"two\"`":                            "not cited as",
		"`internal/doctest: TestLimitsOfPersonalData \"PII-" + "07\"`":                        "has no case",
		"`TestCitedTestsExist`":                                                               "not cited as",
	} {
		found := citations("Tests: " + text + ".")
		if len(found) != 1 {
			t.Fatalf("%s: %d citations", text, len(found))
		}
		if err := sources.find(found[0]); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// specification has the text of every row by its id.
func specification(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs/spec/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`^- \*\*([A-Z]+-\d+)\*\* (.*)`)
	found := map[string]string{}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			if m := row.FindStringSubmatch(line); m != nil {
				found[m[1]] = m[2]
			}
		}
	}
	return found
}

// DOC-04: what is pending names its rows, says that it guards nothing, and is not
// served already.
func TestPendingControls(t *testing.T) {
	spec := specification(t)
	served := read(t, "server/restapi/openapi.json") + read(t, "server/web/public.go")
	marked := regexp.MustCompile(regexp.QuoteMeta(pending) + ` \(([A-Z0-9, -]+)\): (.*)`)
	route := regexp.MustCompile("`(?:[A-Z]+ )?(/api/[a-z][\\w/{}.-]+)`")
	aboutTheMark := strings.NewReplacer("as "+pending+" with its rows", "", "takes a "+pending+" away", "")
	count := 0
	for line := range strings.Lines(read(t, threatModel)) {
		if line = aboutTheMark.Replace(line); !strings.Contains(line, pending) {
			continue
		}
		count++
		m := marked.FindStringSubmatch(line)
		if m == nil || !regexp.MustCompile(`guards? nothing until`).MatchString(m[2]) {
			t.Errorf("rows, or that it guards nothing until it is built, are missing: %s", line)
			continue
		}
		for id := range strings.SplitSeq(m[1], ", ") {
			if spec[id] == "" {
				t.Errorf("the specification has no row %s: %s", id, line)
			}
			for _, path := range route.FindAllStringSubmatch(spec[id], -1) {
				if strings.Contains(served, `"`+path[1]+`"`) {
					t.Errorf("%s is pending, and %s is served", id, path[1])
				}
			}
		}
	}
	if count == 0 {
		t.Error("nothing is pending: take this test's mark out of the page")
	}
}

// DOC-05, of what is kept today.
func TestAssets(t *testing.T) {
	_, bodies := parts(read(t, threatModel), "##")
	assets := rows(bodies["Assets"])
	if len(assets) != 13 {
		t.Errorf("%d assets, want 13", len(assets))
	}
	var schema strings.Builder
	files, err := filepath.Glob(filepath.Join(root, "internal/postgres/migrations/*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		schema.Write(content)
	}
	table := regexp.MustCompile("`([a-z_]+)`")
	for _, cells := range assets {
		if len(cells) != 3 || slices.Contains(cells, "") {
			t.Errorf("an asset is not told in three cells: %q", cells)
			continue
		}
		for _, m := range table.FindAllStringSubmatch(cells[1], -1) {
			if !regexp.MustCompile(`(?m)^create table ` + m[1] + ` \(`).MatchString(schema.String()) {
				t.Errorf("%s is kept in %s, which no migration makes", cells[0], m[1])
			}
		}
	}
}

// DOC-06, DOC-07
func TestTrustedAndAttackers(t *testing.T) {
	_, bodies := parts(read(t, threatModel), "##")
	trusted := items(bodies["Trusted"])
	for i, who := range []string{"operator of the host", "Microsoft", "admins", "review and merge"} {
		if len(trusted) != 4 || !strings.Contains(trusted[i], who) {
			t.Fatalf("trusted are %q, want the %s as number %d of 4", trusted, who, i+1)
		}
	}
	if !strings.Contains(bodies["Trusted"], "Everybody else is an attacker or stands behind a boundary.") {
		t.Error("it is not said what everybody else is")
	}

	boundaries, _ := parts(bodies["Boundaries"], "###")
	anchors := map[string]bool{}
	for _, b := range boundaries {
		anchors[anchor(b)] = true
	}
	attackers := rows(bodies["Attackers"])
	link := regexp.MustCompile(`\[B\w+\]\(#([^)]+)\)`)
	who := []string{"internet", "service account", "MCP client", "broken api", "broken worker", "database copy", "supply chain", "maintaining agent"}
	if len(attackers) != len(who) {
		t.Fatalf("%d attackers, want %d", len(attackers), len(who))
	}
	for i, cells := range attackers {
		if len(cells) != 3 || slices.Contains(cells, "") || !strings.Contains(cells[0], who[i]) {
			t.Errorf("attacker %d is %q, want somebody of %q", i+1, cells, who[i])
			continue
		}
		links := link.FindAllStringSubmatch(cells[2], -1)
		if len(links) == 0 {
			t.Errorf("%s meets no boundary", cells[0])
		}
		for _, m := range links {
			if !anchors[m[1]] {
				t.Errorf("%s is sent to #%s, which no boundary has", cells[0], m[1])
			}
		}
	}
}

// TestResidualRisks looks for each risk that applies today, and for what its row
// wants said of it.
func TestResidualRisks(t *testing.T) {
	_, bodies := parts(read(t, threatModel), "##")
	_, boundaries := parts(bodies["Boundaries"], "###")
	elsewhere := map[string]string{"DOC-35": "B4 ", "DOC-36": "B7 "}
	for id, say := range map[string][]string{
		"DOC-12": {"queries as anyone who is connected", "only read", "a database copy opens none", "disconnecting or an admin's revoke", "90 days", "query_log"},
		"DOC-13": {"metadata and DAX of all workspaces", "no inbound traffic", "never rows", "no API permission"},
		"DOC-14": {"one incremental sync (an hour)", "one full sync (a day)", "metadata only"},
		"DOC-15": {"taken out of an app's audience keeps Build", "the dataset's own permissions take it back"},
		"DOC-18": {"pending", "a result's value included", "500 characters", "60 a minute", "search.provider: none"},
		"DOC-20": {"single tenant", "test sign-in", "powerbi.connection_requires_matching_email"},
		"DOC-21": {"that account's rights decide", "no role and no membership", "tokens of their own", "query log", "powerbi.connection_requires_matching_email"},
		"DOC-23": {"TRUSTED_PROXY", "shares one address's counts", "60 sign-in starts a minute", "60 link downloads a minute", "no service account is given source_cidrs"},
		"DOC-25": {"github.com/ory/fosite", "advisories are read on each bump", "the reuse of a refresh token first"},
		"DOC-26": {"consent cannot read intent", "names the client and the host", "withdrawn", "via and client_id"},
		"DOC-28": {"no connector tool writes to the book", "browser session", "treat data as data"},
		"DOC-29": {"one process to a container", "not as root", "only its own secrets"},
		"DOC-30": {"hardened containers", "an identity for each process", "backed up apart"},
		"DOC-31": {"documentation and OpenAPI file", "live suite on a test tenant before a release"},
		"DOC-32": {"deny settings", "fail when a control is loosened", "review on sensitive paths"},
		"DOC-35": {"Private Link", "private endpoint", "The list of hosts is the control"},
		"DOC-36": {"whom no role reaches", "will still renew it", "Disconnecting, or an admin's revoke, ends it"},
	} {
		t.Run(id, func(t *testing.T) {
			entry := ""
			if prefix := elsewhere[id]; prefix != "" {
				for name, section := range boundaries {
					if strings.HasPrefix(name, prefix) && strings.Contains(section, "("+id+")") {
						entry = section
					}
				}
			} else {
				for _, item := range items(bodies["Residual risks"]) {
					if strings.Contains(item, "("+id+")") && strings.Contains(item, "*Limits:*") {
						entry = item
					}
				}
			}
			if entry == "" {
				t.Fatal("the risk is not there, or without its limits")
			}
			for _, s := range say {
				if !strings.Contains(plain(entry), s) {
					t.Errorf("it does not say %q:\n%s", s, entry)
				}
			}
		})
	}
}

// DOC-15: those who manage access read it too.
func TestGuideTellsOfAppAudiences(t *testing.T) {
	guide := plain(read(t, "docs/guide/access.md"))
	for _, say := range []string{"taken out of an app's audience keeps Build on the dataset", "the dataset's own permissions take it back"} {
		if !strings.Contains(guide, say) {
			t.Errorf("the guide does not say %q", say)
		}
	}
}

// DOC-25: the version that was judged is the one that is built.
func TestNamedVersionOfTheOAuthLibrary(t *testing.T) {
	required := regexp.MustCompile(`github\.com/ory/fosite (v\S+)`).FindStringSubmatch(read(t, "go.mod"))
	if required == nil {
		t.Fatal("go.mod does not require fosite")
	}
	if !strings.Contains(read(t, threatModel), "`github.com/ory/fosite` is at exactly "+required[1]+";") {
		t.Errorf("the threat model does not name %s", required[1])
	}
}
