package scan_test

import (
	"fmt"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

// BOOK-04: what people here say of an element stays over syncs that change, drop and
// bring back what Power BI says of it, and theirs is updated beside it.
func TestOwnDescriptionsSurviveEverySync(t *testing.T) {
	t.Parallel()
	db, src := postgrestest.New(t), newTenant()
	say := func(text string) {
		src.workspaces[id(1)] = fmt.Sprintf(`{"id":%q,"name":"W","type":"Workspace","state":"Active","datasets":[{"id":%q,"name":"D","description":%q,
			"tables":[{"name":"T","description":%[3]q,"columns":[{"name":"C","dataType":"String","description":%[3]q}],
				"measures":[{"name":"M","expression":"1","description":%[3]q}]}]}]}`, id(1), id(11), text)
	}
	sync := func() {
		t.Helper()
		if _, err := newScanner(db, src).Full(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tables := []string{"powerbi_dataset", "powerbi_table", "powerbi_column", "powerbi_measure"}
	want := func(what, theirs string) {
		t.Helper()
		for _, table := range tables {
			if got := list(db, `select concat_ws('|', description, own_description, custom->>'department') from `+table+` where removed_at is null`); got != theirs+"|ours|retail" {
				t.Errorf("%s: %s has %q", what, table, got)
			}
		}
	}
	say("first")
	sync()
	for _, table := range tables {
		if _, err := db.API().Exec(t.Context(), `update `+table+` set own_description = 'ours', custom = '{"department": "retail"}'`); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"first", "second", ""} {
		say(text)
		sync()
		want("synced as "+text, text)
	}
	gone := src.workspaces[id(1)]
	src.workspaces[id(1)] = workspace(1)
	sync()
	if got := list(db, liveDatasets); got != "" {
		t.Fatalf("still there: %s", got)
	}
	src.workspaces[id(1)] = gone
	sync()
	want("gone and back", "")
}
