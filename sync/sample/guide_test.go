package sample_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/sync/sample"
)

// SAMPLE-07: the guide has each change with its command and its request, and no
// request that the tenant does not have.
func TestTheGuideHasEveryChange(t *testing.T) {
	data, err := os.ReadFile("../../docs/guide/sample-company.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(data)
	var rows []string
	for _, c := range sample.Changes() {
		rows = append(rows, fmt.Sprintf("| `pbmb sample %s` | `POST %s%s` | %s |", c.Command, sample.ControlPath, c.Path, c.Doc))
	}
	if want := strings.Join(rows, "\n"); !strings.Contains(guide, want) {
		t.Errorf("the guide's table of changes must be:\n%s", want)
	}
	mounted := newSite(t, sample.Config{}).Controls()
	named := regexp.MustCompile("`(GET|POST|DELETE) "+sample.ControlPath+"([a-z/]+)").FindAllStringSubmatch(guide, -1)
	documented := map[string]bool{}
	for _, m := range named {
		request := m[1] + " " + m[2]
		documented[request] = true
		if !slices.Contains(mounted, request) {
			t.Errorf("the guide has %s, which the tenant does not have", request)
		}
	}
	for _, request := range mounted {
		if !documented[request] {
			t.Errorf("the guide lacks %s", request)
		}
	}
}
