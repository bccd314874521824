package output_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/pbmb/pbmb/server/cli/output"
	"github.com/pbmb/pbmb/tools/dataset"
	"github.com/pbmb/pbmb/tools/me"
	"github.com/pbmb/pbmb/tools/operation"
	"github.com/pbmb/pbmb/tools/query"
	"github.com/pbmb/pbmb/tools/role"
	"github.com/pbmb/pbmb/tools/search"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	id1 = "ee96d352-40b6-567a-b836-899b1d0b2508"
	id2 = "531b1a9d-ce09-57e3-a2ea-102b3d88596a"
)

// Answers as a deployment sends them, with their types.
var answers = map[string]struct {
	of  reflect.Type
	raw string
}{
	"list": {reflect.TypeFor[operation.Page[dataset.Item]](), `{"items":[
		{"id":"` + id1 + `","name":"Sales","workspace":"Commercial","description":"Order lines of all channels since 2023, with customers, products and stores.","endorsement":"Certified","has_row_level_security":false},
		{"id":"` + id2 + `","name":"Regional sales of the whole group","workspace":"Commercial","has_row_level_security":true}],
		"total":229,"pii_hidden":3,"next_cursor":"YWZ0ZXI6Mg"}`},
	"nothing": {reflect.TypeFor[search.Output](), `{"items":[],"note":"Nothing that you can see matches."}`},
	"no names": {reflect.TypeFor[operation.Page[role.Item]](), `{"items":[
		{"id":"` + id1 + `","role":"pii_reader","kind":"person","subject":"ada.with.a.long.address@sample.example","claimed":true,"created_at":"2026-11-30T12:00:00Z","created_by":"admin@sample.example"}],"total":1}`},
	"record": {reflect.TypeFor[me.WhoamiOutput](), `{"kind":"person","id":"` + id1 + `","email":"viewer@sample.example","roles":["viewer","pii_reader"],
		"via":"cli","power_bi":{"state":"connected","account":"viewer@sample.example"},"of_a_newer_version":7}`},
	"record with a list": {reflect.TypeFor[dataset.GetOutput](), `{"id":"` + id1 + `","name":"Sales","workspace":"Commercial","description":"Order lines.\nTwo lines of them.","has_row_level_security":false,
		"workspace_id":"` + id2 + `","apps":["Tarnwick sales","Board"],"seen_at":"2026-11-30T12:00:00Z","columns":70,"measures":71,"relationships_read":true,
		"parts":[{"part":"relationships","state":"read","at":"2026-11-30T12:00:00Z"},{"part":"calculation_items","state":"refused","at":"2026-11-30T12:00:00Z","reason":"Power BI refused to list the calculation items.","effect":"What calculation items do is not checked."}],
		"tables":[{"name":"Calendar","columns":10,"measures":0},{"name":"Sales","description":"One row for each line of an order of the shops and the online shops.","columns":13,"measures":71}]}`},
	"rows": {reflect.TypeFor[query.ExecuteOutput](), `{"dataset":"Sales","dataset_id":"` + id1 + `",
		"columns":[{"name":"Customer[Region]","type":"string"},{"name":"[Net sales]","type":"double"},{"name":"[Open_id]","type":"boolean"}],
		"rows":[["West",9785336.4900,true],["A tab\tand\na line",-0.5,null],[null,12345678901234567890,false],["2026-12-31T00:00:00",98765432.5,null],["2026-12-31T09:30:00",0.0000005,null]],
		"row_count":900,"truncated":"over 100,000 rows","data_at":"unknown","ran_as":"viewer@sample.example","row_level_security":"not defined","dax":"EVALUATE\n  Customer","note":"The first 3 of 900 rows."}`},
	"odd text": {reflect.TypeFor[search.Output](), `{"items":[
		{"kind":"measure","name":"\u001b[2J\u001b]0;owned\u0007Red\u202emoor","table":"売上\u200b高","dataset":"Tab\there","dataset_id":"` + id1 + `","workspace":"\u009b31mC1","description":"line\r\nend \"quoted\", and | bars"}]}`},
}

func show(t *testing.T, s output.Screen, name string, f output.Format) (out, notes string) {
	t.Helper()
	var o, n bytes.Buffer
	s.Out, s.Notes = &o, &n
	if err := s.Show(json.RawMessage(answers[name].raw), answers[name].of, f); err != nil {
		t.Fatal(err)
	}
	return o.String(), n.String()
}

// CLI-07
func TestEveryFormat(t *testing.T) {
	for name, screen := range map[string]output.Screen{
		"terminal 80": {Terminal: true, Width: 80}, "terminal 40": {Terminal: true, Width: 40}, "pipe": {},
	} {
		for _, f := range append([]output.Format{output.Auto}, output.Formats...) {
			if name == "terminal 40" && f != output.Auto {
				continue
			}
			file := filepath.Join("testdata", strings.ReplaceAll(strings.TrimSpace(name+" "+string(f)), " ", "-")+".golden")
			t.Run(file, func(t *testing.T) {
				var got strings.Builder
				for _, answer := range []string{"list", "nothing", "no names", "record", "record with a list", "rows", "odd text"} {
					out, notes := show(t, screen, answer, f)
					fmt.Fprintf(&got, "=== %s\n%s--- beside it\n%s", answer, out, notes)
				}
				if *update {
					if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil || got.String() != string(want) {
					t.Errorf("%v: got\n%s\nwant\n%s", err, got.String(), want)
				}
			})
		}
	}
}

// CLI-07: a table is never wider than its terminal, so that no cell is wrapped.
func TestTablesFit(t *testing.T) {
	for width := 12; width <= 200; width += 7 {
		for _, name := range []string{"list", "rows", "odd text"} {
			out, _ := show(t, output.Screen{Terminal: true, Width: width}, name, output.Table)
			for line := range strings.Lines(out) {
				if got := runewidth.StringWidth(strings.TrimRight(line, "\n")); got > max(width, 3*7) { // a letter a column and the gaps between need some
					t.Errorf("%s at %d columns: %d wide: %q", name, width, got, line)
				}
			}
		}
	}
}

// CLI-07: nothing that a terminal would act on comes from an answer.
func TestNothingActsOnTheTerminal(t *testing.T) {
	for _, f := range output.Formats {
		out, notes := show(t, output.Screen{Terminal: true, Width: 80}, "odd text", f)
		for _, r := range out + notes {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Errorf("%s: %U is in %q", f, r, out)
			}
		}
	}
}

// CLI-07: what is printed as JSON is the answer, value for value.
func TestJSONIsTheAnswer(t *testing.T) {
	for name, a := range answers {
		out, notes := show(t, output.Screen{}, name, output.JSON)
		var got, want bytes.Buffer
		if err := errors.Join(json.Compact(&got, []byte(out)), json.Compact(&want, []byte(a.raw))); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() || notes != "" {
			t.Errorf("%s: %s\n%s", name, got.String(), notes)
		}
	}
}

// CLI-07
func TestColoursAndPages(t *testing.T) {
	plain, _ := show(t, output.Screen{Terminal: true, Width: 80}, "list", output.Table)
	coloured, _ := show(t, output.Screen{Terminal: true, Width: 80, Color: true}, "list", output.Table)
	if strings.Contains(plain, "\x1b") || !strings.Contains(coloured, "\x1b[1m") {
		t.Errorf("without: %q\nwith: %q", plain, coloured)
	}
	var paged string
	pager := func(text string) error { paged = text; return nil }
	for height, want := range map[int]string{2: plain, 50: ""} {
		paged = ""
		out, _ := show(t, output.Screen{Terminal: true, Width: 80, Height: height, Pager: pager}, "list", output.Table)
		if paged != want || (out == "") != (want != "") {
			t.Errorf("%d lines: paged %q, printed %q", height, paged, out)
		}
	}
	paged = ""
	if _, _ = show(t, output.Screen{Height: 1, Pager: pager}, "list", output.Table); paged != "" {
		t.Error("a pipe is paged")
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	for _, f := range output.Formats {
		var out bytes.Buffer
		s := output.Screen{Out: &out, Notes: &out}
		if err := s.Show(json.RawMessage(`<html>`), reflect.TypeFor[search.Output](), f); err == nil {
			t.Errorf("%s: %q", f, out.String())
		}
	}
}
