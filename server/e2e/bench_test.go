package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

var figures = flag.String("figures", "", "measure, and write the figures to this file")

// A section is what one part of docs/bench.md tells.
type section struct {
	text   strings.Builder
	missed []string // sentences on figures that do not reach what they must
}

func (s *section) printf(format string, args ...any) { fmt.Fprintf(&s.text, format, args...) }

func (s *section) miss(format string, args ...any) {
	s.missed = append(s.missed, fmt.Sprintf(format, args...))
}

// sections are measured in this order. Each is in a file of its own.
var sections = []struct {
	row, title string
	measure    func(*testing.T) section
}{
	{"PERF-01", "a guarded tool call", guardFigures},
	{"PERF-02", "the analysis of personal data", piiFigures},
	{"PERF-04", "a sync of the whole tenant", syncFigures},
	{"PERF-05", "lists of somebody who reaches much", listFigures},
	{"PERF-09", "grouped sums beside PostgreSQL", sumFigures},
	{"PERF-10", "pages beside what is hidden", hiddenFigures},
	{"SAMPLE-04", "the sample tenant's start", sampleFigures},
	{"SAMPLE-08", "the sample tenant small and grown", grownFigures},
	{"DAX", "reading the language", parseFigures},
	{"OPS-03", "the demo's start", demoFigures},
}

// PERF-01, PERF-02, PERF-04, PERF-05, PERF-09, PERF-10, SAMPLE-08, OPS-03, when asked for with -figures: each figure beside
// its reference in the same run. With -run TestFigures/PERF-09 the file has that
// section alone.
func TestFigures(t *testing.T) {
	if *figures == "" {
		t.Skip("measured by make bench")
	}
	server, stop, err := postgrestest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	t.Setenv(postgrestest.SharedVariable, server.SuperuserURL())
	var b strings.Builder
	fmt.Fprintf(&b, "# Figures\n\nWritten by `make bench`: each figure beside its reference in the same run, everything on one machine of %s. Read the ratios; the absolute figures are this machine's.\n", cores())
	for _, s := range sections {
		t.Run(s.row, func(t *testing.T) {
			f := s.measure(t)
			fmt.Fprintf(&b, "\n## %s: %s\n\n%s", s.row, s.title, f.text.String())
			if f.missed != nil {
				b.WriteString("\n**Not reached:** " + strings.Join(f.missed, " ") + "\n")
			}
			for _, m := range f.missed {
				t.Error(m)
			}
		})
	}
	if err := os.WriteFile(*figures, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
}

func cores() string { return fmt.Sprintf("%d cores", runtime.NumCPU()) }
