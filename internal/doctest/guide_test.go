package doctest_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the page on personal data says about its limits. Of PII-132 and PII-135
// this is the part that a document can prove.
func TestLimitsOfPersonalData(t *testing.T) {
	_, limits, found := strings.Cut(read(t, "docs/guide/personal-data.md"), "## Limits")
	if !found {
		t.Fatal("the page has no part on limits")
	}
	limits = plain(limits)
	for name, say := range map[string][]string{
		"PII-06 object-level security stays":         {"object-level security", "keep"},
		"PII-132 names are tried on one's own":       {"sample tenant", "your own names", "unusual DAX"},
		"PII-135 threads are free text":              {"threads is not checked"},
		"PII-137 an embedded report":                 {"embedded report", "marked columns included", "no query passes the check"},
		"PII-137 Power BI's error text":              {"error text", "quoted values", "not checked further"},
		"PII-137 calculation items and functions":    {"Calculation items and user-defined functions", "does not tell its own", "not checked"},
		"PII-137 a tenant without INFO views":        {"never answers INFO views", "relationship newly added", "following scan"},
		"PII-137 a column that reads like a measure": {"not mirrored yet", "letter case", "passes as that measure"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range say {
				if !strings.Contains(limits, s) {
					t.Errorf("the limits do not say %q", s)
				}
			}
		})
	}
}

// ROLES-90: the page lists every rule that the code puts before policies, and those
// that stand elsewhere in it.
func TestWhatIsNotASetting(t *testing.T) {
	row := regexp.MustCompile(`[A-Z]+-\d+`)
	want := []string{"SVC-13", "RESULT-01", "AUTHZ-14", "PII-61", "PII-62", "PII-63"}
	for line := range strings.Lines(read(t, "tools/operation/floor.go")) {
		if _, comment, found := strings.Cut(line, "// "); found {
			want = append(want, row.FindAllString(comment, -1)...)
		}
	}
	for _, named := range []string{"SVC-16", "NET-02", "MCP-10"} { // the comments are read
		if !slices.Contains(want, named) {
			t.Errorf("the code does not name %s", named)
		}
	}
	var listed []string
	for _, cells := range rows(read(t, "docs/guide/not-a-setting.md")) {
		listed = append(listed, row.FindAllString(cells[len(cells)-1], -1)...)
	}
	for _, r := range want {
		if !slices.Contains(listed, r) {
			t.Errorf("the page does not list the rule of %s", r)
		}
	}
	for _, r := range listed {
		if !slices.Contains(want, r) {
			t.Errorf("the page lists %s, which the code does not name", r)
		}
	}
}
