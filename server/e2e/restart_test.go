package e2e_test

import "testing"

// A demo that is started again on its folder answers queries as before: the sample
// tenant, which is new each time, lets the sample people in anew.
func TestQueriesAfterARestart(t *testing.T) {
	data := newData(t)
	newDemo(t, data).stop(t)
	s := newDemo(t, data).connect(t, "v1", "viewer@sample.example",
		call{"execute_dax", map[string]any{"dataset": "Sales", "dax": `EVALUATE { 1 }`}})
	if s.Results[0].IsError {
		t.Fatal(s.Results[0].Text)
	}
}
