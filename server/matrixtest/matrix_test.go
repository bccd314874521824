package matrixtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/pbmb/pbmb/server/web"
	"github.com/pbmb/pbmb/tools/catalogue"
	"github.com/pbmb/pbmb/tools/operation"
	"github.com/pbmb/pbmb/ui"
)

// operations are the declarations by name.
func operations() map[string]*operation.Def {
	all := map[string]*operation.Def{}
	for _, o := range catalogue.All(catalogue.Stores{}) {
		all[o.Name] = o
	}
	return all
}

// callers are one of each of columns, with the connector tokens of toolColumns.
type callers struct {
	rest, tool map[string]caller
}

func (d *deployment) callers() callers {
	d.t.Helper()
	admin, curator, elsewhere := d.person("admin@sample.example"), d.person("curator@sample.example"), d.person("joiner@sample.example")
	admin.must(http.MethodPost, "/api/v1/admin/roles", map[string]any{"role": "curator", "person": "joiner@sample.example"})
	c := callers{rest: map[string]caller{
		"anonymous": d.nobody(), "outsider": d.person("outsider@sample.example"), "viewer": d.person("viewer@sample.example"),
		"curator": curator, "elsewhere": elsewhere, "admin": admin,
		"granted":   admin.account("with a grant", d.workspace("Commercial")),
		"ungranted": admin.account("without one"),
		"cli":       curator.cli(), "connector": curator.connector(),
	}, tool: map[string]caller{}}
	for _, name := range toolColumns {
		c.tool[name] = c.rest[name].connector()
	}
	return c
}

func (d *deployment) workspace(name string) string {
	return d.strings("select id from powerbi_workspace where name = $1", name)[0]
}

func (d *deployment) dataset(name string) string {
	return d.strings("select id from powerbi_dataset where name = $1", name)[0]
}

// expected is what a row wants of each of names.
func expected(want string, names []string) (map[string]string, error) {
	fields := strings.Fields(want)
	if len(fields) == 1 {
		fields = slices.Repeat(fields, len(names))
	}
	if len(fields) != len(names) {
		return nil, fmt.Errorf("%d answers for %d kinds of caller: %s", len(fields), len(names), strings.Join(names, " "))
	}
	by := map[string]string{}
	for i, name := range names {
		by[name] = fields[i]
	}
	return by, nil
}

// unnamed compares what is registered with what the table names, both ways.
func unnamed(rows []row, routes []string, tools []string, declared map[string]*operation.Def) (problems []string) {
	named, asTools := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		route := r.name
		if o := declared[r.name]; o != nil {
			route = o.Method + " /api/v1" + o.Path
			asTools[r.name] = asTools[r.name] || r.tool != ""
		}
		named[route] = true
	}
	byRoute := map[string]*operation.Def{}
	for _, o := range declared {
		byRoute[o.Method+" /api/v1"+o.Path] = o
	}
	for _, route := range routes {
		if !named[route] && route != "/api/v1/" { // which is whatever stands below it
			problems = append(problems, fmt.Sprintf("%s has no row: add to matrix in table_test.go, and correct what it wants,\n\t%s", route, suggested(route, byRoute[route])))
		}
		delete(named, route)
	}
	for route := range named {
		problems = append(problems, fmt.Sprintf("the row of %s is of no registered route: remove it", route))
	}
	for _, tool := range tools {
		if !asTools[tool] {
			problems = append(problems, fmt.Sprintf("the tool %s has no row that says what it answers: add to its row, and correct,\n\ttool: toAll", tool))
		}
		delete(asTools, tool)
	}
	for tool, is := range asTools {
		if is {
			problems = append(problems, fmt.Sprintf("the row of %s says what a tool answers that the connector does not serve: remove its tool", tool))
		}
	}
	return problems
}

// suggested is the line for a route that has none.
func suggested(route string, o *operation.Def) string {
	if o == nil {
		return fmt.Sprintf("{name: %q, want: sessions(200)},", route)
	}
	args := map[string]any{}
	for _, name := range o.Input.Required {
		s := o.Input.Properties[name]
		switch {
		case name == "dataset":
			args[name] = "Sales"
		case len(s.Examples) > 0:
			args[name] = s.Examples[0]
		case len(s.Enum) > 0:
			args[name] = s.Enum[0]
		case s.Format == "uuid":
			args[name] = none
		default:
			args[name] = "none"
		}
	}
	line := fmt.Sprintf("{name: %q", o.Name)
	if len(args) > 0 {
		raw, err := json.Marshal(args)
		if err != nil {
			return err.Error()
		}
		line += fmt.Sprintf(", args: `%s`", raw)
	}
	want, tool := "anybody", "toAll"
	switch {
	case o.Kind == "admin":
		want, tool = "admins(200)", "toNone"
	case args["dataset"] != nil:
		want, tool = "ofSales", "toSales"
	case o.Kind == "":
		want = "people(200)"
	}
	line += ", want: " + want
	if o.Surfaces&operation.Connector != 0 {
		line += ", tool: " + tool
	}
	return line + "},"
}

var open = regexp.MustCompile(`\{\w+\}|:\w+|\*`)

// request is a row as an HTTP request.
func (r row) request(o *operation.Def, sales string) (method, path string, body any, err error) {
	args := map[string]any{}
	if r.args != "" {
		if err := json.Unmarshal([]byte(strings.ReplaceAll(r.args, "@sales", sales)), &args); err != nil {
			return "", "", nil, fmt.Errorf("the arguments of %s: %w", r.name, err)
		}
	}
	if o != nil {
		method, path = o.Method, "/api/v1"+o.Path
		for _, name := range o.PathParams {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(fmt.Sprint(args[name])))
			delete(args, name)
		}
	} else if method, path, _ = strings.Cut(r.name, " "); path == "" {
		method, path = http.MethodPost, r.name
		return method, path, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, nil
	}
	path = open.ReplaceAllString(path, "x")
	if method == http.MethodGet || method == http.MethodDelete {
		query := url.Values{}
		for name, value := range args {
			query.Set(name, fmt.Sprint(value))
		}
		if len(query) > 0 {
			path += "?" + query.Encode()
		}
		return method, path, nil, nil
	}
	if strings.HasSuffix(path, "/token") || strings.HasSuffix(path, "/device_authorization") {
		form := url.Values{}
		for name, value := range args {
			form.Set(name, fmt.Sprint(value))
		}
		return method, path, form, nil
	}
	return method, path, args, nil
}

// An asked cell is a request that was made, with its answer.
type asked struct {
	what, by string
	sent     string // all that the request said
	answer   answer
}

// AUTHZ-26, AUTHZ-27, AUTHZ-28, AUTHZ-29, ROLES-03, ROLES-13: every registered route
// and every tool is in the table, and each cell of it is what the api answers. No
// answer to a caller who does not see Sales has an id, a key or a name of it.
func TestMatrix(t *testing.T) {
	d := newDeployment(t, nil)
	c := d.callers()
	declared := operations()
	var listed struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(c.tool["viewer"].rpc("tools/list", map[string]any{}).text), &listed); err != nil {
		t.Fatal(err)
	}
	var tools []string
	for _, tool := range listed.Result.Tools {
		tools = append(tools, tool.Name)
	}
	for _, problem := range unnamed(matrix, d.routes, tools, declared) {
		t.Error(problem)
	}

	sales := d.dataset("Sales")
	var mu sync.Mutex
	var all []asked
	check := func(cell asked, got, want string) {
		mu.Lock()
		defer mu.Unlock()
		if all = append(all, cell); got != want {
			t.Errorf("%s by %s: %s, the table says %s: %.300s", cell.what, cell.by, got, want, cell.answer.text)
		}
	}
	ask := func(r row, name, want string) error {
		method, path, body, err := r.request(declared[r.name], sales)
		if err != nil {
			return err
		}
		a, err := c.rest[name].try(method, path, body, "Accept", "application/json, text/event-stream")
		if err != nil {
			return err
		}
		check(asked{r.name + " " + r.args, name, fmt.Sprint(path, body), a}, strconv.Itoa(a.status), want)
		return nil
	}
	use := func(r row, name, want string) error {
		arguments := json.RawMessage(strings.ReplaceAll(r.args, "@sales", sales))
		if len(arguments) == 0 {
			arguments = json.RawMessage("{}")
		}
		message := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": r.name, "arguments": arguments}}
		by, status := c.tool[name], http.StatusOK
		if by.d == nil { // not one of toolColumns: a credential that the connector does not take
			by, status = c.rest[name], http.StatusUnauthorized
		}
		a, err := by.try(http.MethodPost, "/api/mcp", message, "Accept", "application/json, text/event-stream")
		if err != nil {
			return err
		}
		got := outcome(a)
		if a.status != status {
			got = fmt.Sprint(a.status)
		}
		check(asked{"the tool " + r.name + " " + r.args, name, string(arguments), a}, got, want)
		return nil
	}

	var group errgroup.Group
	group.SetLimit(8)
	var last []func() error
	for _, r := range matrix {
		want, err := expected(r.want, columns)
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		for _, name := range columns {
			one := func() error { return ask(r, name, want[name]) }
			if r.last {
				last = append(last, one)
			} else {
				group.Go(one)
			}
		}
		if r.tool == "" {
			continue
		}
		wantOfTool, err := expected(r.tool, toolColumns)
		if err != nil {
			t.Fatalf("the tool %s: %v", r.name, err)
		}
		for _, name := range toolColumns {
			group.Go(func() error { return use(r, name, wantOfTool[name]) })
		}
		for _, name := range []string{"anonymous", "granted", "ungranted", "cli"} {
			group.Go(func() error { return use(r, name, "401") })
		}
		group.Go(func() error { // nor does a session
			a, err := c.rest["curator"].try(http.MethodPost, "/api/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": r.name}})
			if err == nil {
				check(asked{"the tool " + r.name, "a session", "", a}, fmt.Sprint(a.status), "401")
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, one := range last {
		if err := one(); err != nil {
			t.Fatal(err)
		}
	}
	d.noneKnowsSales(all)
}

// outcome is what a tool's answer comes to: ok, or the kind of its error.
func outcome(a answer) string {
	var reply struct {
		Error  *struct{ Message string }
		Result struct {
			IsError bool                  `json:"isError"`
			Meta    struct{ Kind string } `json:"_meta"`
		}
	}
	if a.status != http.StatusOK {
		return "401"
	}
	if err := json.Unmarshal([]byte(a.text), &reply); err != nil {
		return err.Error()
	}
	switch {
	case reply.Error != nil:
		return "protocol: " + reply.Error.Message
	case reply.Result.IsError:
		return reply.Result.Meta.Kind
	}
	return "ok"
}

// noneKnowsSales searches every answer to those who do not see Sales for its ids and
// keys, and for the names of what is in no other dataset (AUTHZ-29).
func (d *deployment) noneKnowsSales(all []asked) {
	d.t.Helper()
	sales := d.dataset("Sales")
	secrets := d.strings(`
		select id::text from powerbi_dataset where id = $1::uuid
		union select id::text from powerbi_report where dataset_id = $1::uuid
		union (select t.name || '[' || m.name || ']' from powerbi_measure m join powerbi_table t on t.id = m.table_id where m.dataset_id = $1::uuid
			union select t.name || '[' || c.name || ']' from powerbi_column c join powerbi_table t on t.id = c.table_id where c.dataset_id = $1::uuid)
		union (select name from powerbi_measure where dataset_id = $1::uuid except select name from powerbi_measure where dataset_id <> $1::uuid
			except select name from powerbi_column where dataset_id <> $1::uuid)
		union select description from powerbi_measure where dataset_id = $1::uuid and length(description) > 20
			and description not in (select description from powerbi_measure where dataset_id <> $1::uuid)`, sales)
	elsewhere := strings.Join(d.strings(`
		select t.name || '[' || m.name || '] ' || m.description || m.expression from powerbi_measure m join powerbi_table t on t.id = m.table_id where m.dataset_id <> $1::uuid
		union select t.name || '[' || c.name || '] ' || c.description || t.description from powerbi_column c join powerbi_table t on t.id = c.table_id where c.dataset_id <> $1::uuid
		union select name || ' ' || description from powerbi_dataset where id <> $1::uuid`, sales), "\n")
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < 6 || strings.Contains(elsewhere, s) })
	if len(secrets) < 40 {
		d.t.Fatalf("only %d ids, keys and names of Sales: is it there?", len(secrets))
	}
	searched, seen := 0, false
	for _, a := range all {
		if a.by == "viewer" && strings.Contains(a.answer.text, sales) {
			seen = true
		}
		if !slices.Contains([]string{"anonymous", "outsider", "ungranted", "elsewhere"}, a.by) || strings.Contains(a.what, "/api/v1/openapi") {
			continue // the document is the same bytes for everybody, and its examples are of no tenant
		}
		searched++
		text := a.answer.text + fmt.Sprint(a.answer.header)
		for _, secret := range secrets {
			if strings.Contains(text, secret) && !strings.Contains(a.sent, secret) {
				d.t.Errorf("%s tells %s of %q: %.300s", a.what, a.by, secret, a.answer.text)
			}
		}
	}
	if !seen || searched < 200 {
		d.t.Errorf("%d answers searched; one who sees Sales was told of it: %v", searched, seen)
	}
}

// AUTHZ-27, AUTHZ-31: a route or a tool without a row fails, with the line to add; so
// does a row of what is gone.
func TestWhatTheMatrixDoesNotNameFails(t *testing.T) {
	declared := operations()
	var routes, tools []string
	for _, r := range matrix {
		if o := declared[r.name]; o != nil {
			routes = append(routes, o.Method+" /api/v1"+o.Path)
			if r.tool != "" {
				tools = append(tools, r.name)
			}
		} else {
			routes = append(routes, r.name)
		}
	}
	slices.Sort(routes)
	slices.Sort(tools)
	routes, tools = slices.Compact(routes), slices.Compact(tools)
	if problems := unnamed(matrix, routes, tools, declared); len(problems) > 0 {
		t.Fatalf("as it is: %s", problems)
	}
	type fixtureInput struct {
		Dataset string `json:"dataset" doc:"A dataset"`
	}
	fixture := operation.Operation[fixtureInput, struct{}]{
		Name: "fixture", Title: "A fixture", Doc: "Of a test.", Route: "GET /fixtures/{dataset}", Command: "fixture", Surfaces: operation.API | operation.Connector,
		Effect: operation.Reads, Ask: operation.OnBook[fixtureInput]("read"),
		Handle: func(context.Context, *operation.Call, fixtureInput) (struct{}, error) { return struct{}{}, nil },
	}.Def()
	more := operations()
	more["fixture"] = fixture
	for name, c := range map[string]struct {
		rows          []row
		routes, tools []string
		want          string
	}{
		"a route of the protocol": {matrix, append(slices.Clone(routes), "GET /api/v1/fixture"), tools, `{name: "GET /api/v1/fixture", want: sessions(200)},`},
		"an operation":            {matrix, append(slices.Clone(routes), "GET /api/v1/fixtures/{dataset}"), tools, "{name: \"fixture\", args: `{\"dataset\":\"Sales\"}`, want: ofSales, tool: toSales},"},
		"a tool":                  {matrix, routes, append(slices.Clone(tools), "fixture"), "the tool fixture has no row"},
		"a row of no route":       {append(slices.Clone(matrix), row{name: "GET /gone", want: "200"}), routes, tools, "the row of GET /gone is of no registered route"},
		"a row of no tool":        {append(slices.Clone(matrix), row{name: "list_audit", want: "200", tool: toAll}), routes, tools, "the row of list_audit says what a tool answers"},
	} {
		if problems := unnamed(c.rows, c.routes, c.tools, more); len(problems) != 1 || !strings.Contains(problems[0], c.want) {
			t.Errorf("%s: %q, want %q", name, problems, c.want)
		}
	}
}

// AUTHZ-26, AUTHZ-28, ROLES-11, ROLES-12: what the table itself has to keep to,
// whatever its rows are: which credentials open which paths at all, and that an
// admin may whatever a curator may.
func TestTheTableKeepsItsOwnRules(t *testing.T) {
	want := "anonymous outsider viewer curator elsewhere admin granted ungranted cli connector"
	if got := strings.Join(columns, " "); got != want {
		t.Errorf("the callers are %s, want %s", got, want)
	}
	declared, public := operations(), web.PublicPaths(ui.Paths())
	for _, r := range matrix {
		by, err := expected(r.want, columns)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if slices.Contains(public, r.name) {
			if len(strings.Fields(r.want)) != 1 {
				t.Errorf("%s is public and tells its callers apart: %s", r.name, r.want)
			}
			continue
		}
		o := declared[r.name]
		shut := []string{"anonymous", "connector"}
		switch {
		case r.name == "/api/mcp":
			shut = columns[:len(columns)-1]
		case o == nil && !strings.HasPrefix(r.name, "GET /api/v1/openapi."):
			shut = append(shut, "granted", "ungranted", "cli")
		}
		for _, name := range shut {
			if by[name] != "401" {
				t.Errorf("%s answers %s to %s, whose credential opens nothing there", r.name, by[name], name)
			}
		}
		for _, name := range columns {
			if !slices.Contains(shut, name) && by[name] == "401" {
				t.Errorf("%s does not take the credential of %s", r.name, name)
			}
		}
		if by["curator"] == "200" && by["admin"] != "200" {
			t.Errorf("%s: a curator may what an admin may not", r.name)
		}
		if by["viewer"] == "200" && by["curator"] != "200" {
			t.Errorf("%s: a viewer may what a curator may not", r.name)
		}
		if o != nil && o.Kind == "admin" {
			for _, name := range columns {
				if name != "admin" && by[name] != "401" && by[name] != "403" {
					t.Errorf("%s is administration and answers %s to %s", r.name, by[name], name)
				}
			}
		}
	}
}

// AUTHZ-04: what is refused is refused equally by every way in.
func TestEveryWayInRefusesAlike(t *testing.T) {
	d := newDeployment(t, nil)
	curator, admin := d.person("curator@sample.example"), d.person("admin@sample.example")
	ways := map[string]caller{"browser": curator, "cli": curator.cli(), "service account": admin.account("of Commercial", d.workspace("Commercial"))}
	connector := curator.connector()
	hidden := d.dataset("Receivables")
	for _, path := range []string{"/datasets/" + hidden, "/columns?dataset=" + hidden, "/measures?dataset=" + hidden, "/search?query=x&dataset=" + hidden} {
		for way, c := range ways {
			if a := c.send(http.MethodGet, "/api/v1"+path, nil); a.status != http.StatusNotFound || a.field("detail") != `No dataset named "`+hidden+`" is visible to you.` {
				t.Errorf("%s by %s: %d %s", path, way, a.status, a.text)
			}
		}
	}
	for _, tool := range []string{"get_dataset", "list_columns", "list_measures"} {
		if a := connector.tool(tool, map[string]any{"dataset": hidden}); outcome(a) != "not_found" || !strings.Contains(a.text, `is visible to you.`) {
			t.Errorf("%s by the connector: %s", tool, a.text)
		}
	}
	for way, c := range ways {
		if a := c.send(http.MethodGet, "/api/v1/admin/audit", nil); a.status != http.StatusForbidden || a.field("kind") != "forbidden" {
			t.Errorf("the audit by %s: %d %s", way, a.status, a.text)
		}
	}
	if a := connector.tool("list_audit", map[string]any{}); !strings.Contains(a.text, "error") || strings.Contains(a.text, "items") {
		t.Errorf("the audit by the connector: %s", a.text)
	}
}
