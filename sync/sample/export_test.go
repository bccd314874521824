package sample

import (
	"testing"

	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// GeneratedRows are the rows of a generated table of the company by column, for
// tests that add them up by hand.
func GeneratedRows(t testing.TB, name string) map[string][]value.Value {
	t.Helper()
	dataset, tbl := tableOf(t, name)
	f := generated(t, dataset, tbl)
	columns := map[string][]value.Value{}
	for name, c := range f.columns {
		for row := range c.Len() {
			columns[name] = append(columns[name], c.At(int32(row)))
		}
	}
	return columns
}

// Controls are the requests of the test API.
func (t *Tenant) Controls() []string { return t.controls }

// Routes are the operations of Power BI's API.
func (t *Tenant) Routes() []string { return t.routes }
