package sample_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/sync/sample"
)

// An embedAnswer is an answer of GenerateToken, good or not.
type embedAnswer struct {
	Token, TokenID string
	Expiration     time.Time
	Error          struct{ Code, Message string }
}

func (s *site) reportID(workspace, name string) string {
	s.t.Helper()
	var l list
	s.call(s.powerBI("admin"), "GET", personPath+"/groups/"+s.WorkspaceID(workspace)+"/reports", nil, &l)
	for _, r := range l.Value {
		if r["name"] == name {
			return r["id"].(string)
		}
	}
	s.t.Fatalf("no report %s in %s", name, workspace)
	return ""
}

// product is the token of the product's app registration on its own behalf.
func (s *site) product() string { return s.app(sample.AppID, sample.AppSecret) }

// identity is an effective identity for Regional sales.
func (s *site) identity(username string, roles ...string) map[string]any {
	return map[string]any{"username": username, "roles": roles, "datasets": []string{s.DatasetID("Regional sales")}}
}

// generate asks for a token that opens one report of Commercial.
func (s *site) generate(token, report string, body map[string]any) (embedAnswer, *http.Response) {
	s.t.Helper()
	var a embedAnswer
	res := s.call(token, "POST", personPath+"/groups/"+s.WorkspaceID("Commercial")+"/reports/"+s.reportID("Commercial", report)+"/GenerateToken", body, &a)
	return a, res
}

// A drawnReport is what the report page is told of a report.
type drawnReport struct {
	Name  string
	Pages []struct {
		Name    string
		Visuals []struct{ Name, Title string }
	}
	Error struct{ Code, Message string }
}

// explore asks as the report page does. The kind is EmbedToken or Bearer.
func (s *site) explore(kind, token, path string, body, out any) *http.Response {
	s.t.Helper()
	return s.send(kind+" "+token, "POST", "/reportEmbed/explore/"+path, body, out)
}

func (s *site) describe(kind, token, report string) (drawnReport, *http.Response) {
	s.t.Helper()
	var d drawnReport
	res := s.send(kind+" "+token, "GET", "/reportEmbed/explore/"+report, nil, &d)
	return d, res
}

// drawnValue is the text of the first cell of a visual of the first page.
func (s *site) drawnValue(kind, token, report, title string, filters ...any) string {
	s.t.Helper()
	d, res := s.describe(kind, token, report)
	if res.StatusCode != 200 {
		s.t.Fatalf("%s %+v", res.Status, d.Error)
	}
	for _, v := range d.Pages[0].Visuals {
		if v.Title != title {
			continue
		}
		var answer struct {
			Visuals []struct {
				Rows  [][]struct{ Text string }
				Error struct{ Message string }
			}
		}
		res := s.explore(kind, token, report+"/query", map[string]any{
			"page": d.Pages[0].Name, "visuals": []any{map[string]any{"name": v.Name, "filters": filters}},
		}, &answer)
		if res.StatusCode != 200 || len(answer.Visuals) != 1 || len(answer.Visuals[0].Rows) != 1 {
			s.t.Fatalf("%s %+v", res.Status, answer)
		}
		return answer.Visuals[0].Rows[0][0].Text
	}
	s.t.Fatalf("no visual %s", title)
	return ""
}

// grouped writes a number as the format #,0.00 does.
func grouped(n float64) string {
	text := fmt.Sprintf("%.2f", n)
	for i := strings.Index(text, ".") - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// SAMPLE-09: the rows of a report are those of the token's identity, whatever the
// page asks with.
func TestReportsAreDrawnForTheIdentityOfTheToken(t *testing.T) {
	s := sharedSite(t)
	regions := s.reportID("Commercial", "Regions")
	product := s.product()
	seen := map[string]string{}
	for person, roles := range map[string][]string{"ada": {"By salesperson"}, "grace": {"By salesperson"}, "joiner": {"West"}} {
		a, res := s.generate(product, "Regions", map[string]any{"accessLevel": "View", "identities": []any{s.identity(person+"@sample.example", roles...)}})
		if res.StatusCode != 200 {
			t.Fatalf("%s: %s %+v", person, res.Status, a.Error)
		}
		got, want := s.drawnValue("EmbedToken", a.Token, regions, "Net sales"), grouped(s.as(person).number("Regional sales", "[Net sales]"))
		if got != want {
			t.Errorf("%s is drawn %s, and executeQueries answers %s", person, got, want)
		}
		seen[person] = got
	}
	if seen["ada"] == seen["grace"] {
		t.Error("ada and grace are drawn the same")
	}
	if own := s.drawnValue("Bearer", s.powerBI("ada"), regions, "Net sales"); own != seen["ada"] {
		t.Errorf("ada opens it as herself and is drawn %s, want %s", own, seen["ada"])
	}
	// Two roles add up; the name of nobody shows nothing.
	both, _ := s.generate(product, "Regions", map[string]any{"identities": []any{s.identity("x", "France", "Canada")}})
	sum := 0.0
	for _, country := range []string{"France", "Canada"} {
		sum += s.as("curator").number("Regional sales", `CALCULATE ( [Net sales], Region[Country] = "`+country+`" )`)
	}
	if got := s.drawnValue("EmbedToken", both.Token, regions, "Net sales"); got != grouped(sum) {
		t.Errorf("both countries are drawn %s, want %s", got, grouped(sum))
	}
	filter := map[string]any{"target": map[string]any{"table": "Region", "column": "Country"}, "operator": "In", "values": []any{"France"}}
	want := grouped(s.as("curator").number("Regional sales", `CALCULATE ( [Net sales], Region[Country] = "France" )`))
	if got := s.drawnValue("EmbedToken", both.Token, regions, "Net sales", filter); got != want {
		t.Errorf("filtered by France it is drawn %s, want %s", got, want)
	}
	// A person who may write the model and gives no identity sees everything.
	own, _ := s.generate(s.powerBI("curator"), "Regions", map[string]any{})
	if got, want := s.drawnValue("EmbedToken", own.Token, regions, "Net sales"), grouped(s.as("curator").number("Regional sales", "[Net sales]")); got != want {
		t.Errorf("curator is drawn %s, want %s", got, want)
	}
}

// SAMPLE-09: a token opens exactly what it was made for, and only while it is good.
func TestEmbedTokensOpenWhatTheyAreFor(t *testing.T) {
	clock := newClock()
	s := newSite(t, sample.Config{Now: clock.now, Unlimited: true})
	overview, customers, regions := s.reportID("Commercial", "Sales overview"), s.reportID("Commercial", "Customers"), s.reportID("Commercial", "Regions")
	product := s.product()
	refused := func(what, kind, token, report, code string) {
		t.Helper()
		d, res := s.describe(kind, token, report)
		if res.StatusCode == 200 || d.Error.Code != code || d.Name != "" {
			t.Errorf("%s: %s %+v, want %s", what, res.Status, d, code)
		}
		var answer map[string]any
		if res := s.explore(kind, token, report+"/query", map[string]any{"page": "", "visuals": []any{}}, &answer); res.StatusCode == 200 || !strings.Contains(fmt.Sprint(answer), code) {
			t.Errorf("%s, asked for rows: %s %v, want %s", what, res.Status, answer, code)
		}
	}
	a, res := s.generate(product, "Sales overview", map[string]any{"lifetimeInMinutes": 10})
	if res.StatusCode != 200 || res.Header.Get("Cache-Control") == "" {
		t.Fatalf("%s %+v", res.Status, a.Error)
	}
	if d, res := s.describe("EmbedToken", a.Token, overview); res.StatusCode != 200 || d.Name != "Sales overview" {
		t.Errorf("the report itself: %s %+v", res.Status, d)
	}
	again, _ := s.generate(product, "Sales overview", map[string]any{})
	if again.Token == a.Token || again.TokenID == a.TokenID || len(a.Token) < 64 {
		t.Errorf("two tokens %q and %q", a.Token, again.Token)
	}
	const notYours = "PowerBINotAuthorizedException"
	refused("a report on the same dataset", "EmbedToken", a.Token, customers, notYours)
	refused("a report on another dataset", "EmbedToken", a.Token, regions, notYours)
	refused("a token of nobody", "EmbedToken", "H4sIxxx", overview, notYours)
	refused("no token", "", "", overview, notYours)
	refused("an access token as an embedding one", "EmbedToken", s.powerBI("curator"), overview, notYours)
	refused("an embedding token as an access token", "Bearer", a.Token, overview, notYours)
	refused("an app's access token", "Bearer", product, overview, notYours)
	refused("a person whom the report is not shared with", "Bearer", s.powerBI("outsider"), overview, notYours)

	unknown, res := s.generate(product, "Regions", map[string]any{"identities": []any{s.identity("x", "france")}})
	if res.StatusCode != 200 {
		t.Errorf("an unknown role is not seen before the report opens, but %s", res.Status)
	}
	refused("a role that the model does not have", "EmbedToken", unknown.Token, regions, "LoadReportFailed")

	var two embedAnswer
	s.call(product, "POST", personPath+"/GenerateToken", map[string]any{
		"reports": []any{map[string]any{"id": overview}, map[string]any{"id": regions}}, "datasets": []any{map[string]any{"id": s.DatasetID("Sales")}},
	}, &two)
	if _, res := s.describe("EmbedToken", two.Token, overview); res.StatusCode != 200 {
		t.Errorf("a token for two reports: %s", res.Status)
	}
	refused("the dataset is not in the token", "EmbedToken", two.Token, regions, "LoadReportFailed")

	clock.at = clock.at.Add(10*time.Minute + time.Second)
	refused("an expired token", "EmbedToken", a.Token, overview, "TokenExpired")
	if _, res := s.describe("EmbedToken", again.Token, overview); res.StatusCode != 200 {
		t.Errorf("the longer one after ten minutes: %s", res.Status)
	}
	if n := s.RevokeEmbedTokens(again.TokenID); n != 1 {
		t.Errorf("%d tokens revoked", n)
	}
	refused("a revoked token", "EmbedToken", again.Token, overview, notYours)
}

// SAMPLE-09: who may make tokens, of what, and for how long.
func TestGenerateToken(t *testing.T) {
	clock := newClock()
	s := newSite(t, sample.Config{Now: clock.now, Unlimited: true})
	product := s.product()
	identity := func(change func(map[string]any)) []any {
		in := s.identity("ada@sample.example", "West")
		change(in)
		return []any{in}
	}
	keep := func(map[string]any) {}
	many := func(n int) (list []any) {
		for i := range n {
			list = append(list, fmt.Sprint("role ", i))
		}
		return list
	}
	for name, c := range map[string]struct {
		token, report string
		body          map[string]any
		status        int
		say           string
	}{
		"an app without row-level security":    {product, "Sales overview", map[string]any{}, 200, ""},
		"a member without row-level security":  {s.powerBI("curator"), "Sales overview", map[string]any{"accessLevel": "View"}, 200, ""},
		"an app with an identity":              {product, "Regions", map[string]any{"identities": identity(keep)}, 200, ""},
		"50 roles":                             {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { m["roles"] = many(50) })}, 200, ""},
		"a role of 50 characters":              {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { m["roles"] = []any{strings.Repeat("é", 50)} })}, 200, ""},
		"a username of 256 characters":         {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { m["username"] = strings.Repeat("x", 256) })}, 200, ""},
		"a reader of the workspace":            {s.powerBI("grace"), "Sales overview", map[string]any{}, 404, ""},
		"somebody else":                        {s.powerBI("outsider"), "Sales overview", map[string]any{}, 404, ""},
		"another app":                          {s.scanner(), "Sales overview", map[string]any{}, 403, ""},
		"a person without the permission":      {s.tokens("curator@sample.example", sample.PowerBIAudience+"/Workspace.Read.All").AccessToken, "Sales overview", map[string]any{}, 403, ""},
		"editing without the permission":       {s.powerBI("curator"), "Sales overview", map[string]any{"accessLevel": "Edit"}, 403, ""},
		"saving without the permission":        {s.powerBI("curator"), "Sales overview", map[string]any{"allowSaveAs": true}, 403, ""},
		"creating":                             {product, "Sales overview", map[string]any{"accessLevel": "Create"}, 400, "creating reports"},
		"a level that is none":                 {product, "Sales overview", map[string]any{"accessLevel": "Own"}, 400, "accessLevel"},
		"an app without an identity":           {product, "Regions", map[string]any{}, 400, "requires effective identity"},
		"an identity where there are no roles": {product, "Sales overview", map[string]any{"identities": identity(func(m map[string]any) { m["datasets"] = []any{s.DatasetID("Sales")} })}, 400, "shouldn't have effective identity"},
		"an identity without roles":            {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { m["roles"] = []any{} })}, 400, "requires roles"},
		"an identity without datasets":         {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { delete(m, "datasets") })}, 400, "datasets"},
		"an identity for another dataset":      {product, "Sales overview", map[string]any{"identities": identity(keep)}, 400, "not for"},
		"two identities for a dataset":         {product, "Regions", map[string]any{"identities": append(identity(keep), identity(keep)...)}, 400, "more than one"},
		"an identity without a username":       {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { m["username"] = "" })}, 400, "username"},
		"a username beyond ASCII":              {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { m["username"] = "zoë@sample.example" })}, 400, "ASCII"},
		"a username of 257 characters":         {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { m["username"] = strings.Repeat("x", 257) })}, 400, "256"},
		"51 roles":                             {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { m["roles"] = many(51) })}, 400, "at most 50 roles"},
		"a role of 51 characters":              {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { m["roles"] = []any{strings.Repeat("é", 51)} })}, 400, "50 characters"},
		"a role with a comma":                  {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { m["roles"] = []any{"a,b"} })}, 400, "comma"},
		"a blob":                               {product, "Regions", map[string]any{"identities": identity(func(m map[string]any) { m["identityBlob"] = map[string]any{"value": "x"} })}, 400, "identityBlob"},
		"a negative life":                      {product, "Sales overview", map[string]any{"lifetimeInMinutes": -1}, 400, "lifetimeInMinutes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{Tenant: s.Tenant, t: t, url: s.url}
			a, res := s.generate(c.token, c.report, c.body)
			if res.StatusCode != c.status || !strings.Contains(a.Error.Message, c.say) || (a.Token != "") != (c.status == 200) {
				t.Errorf("%s %+v, want %d and %q", res.Status, a, c.status, c.say)
			}
		})
	}
	lasts := func(minutes int) time.Duration {
		t.Helper()
		a, _ := s.generate(product, "Sales overview", map[string]any{"lifetimeInMinutes": minutes})
		return a.Expiration.Sub(clock.at)
	}
	if got := lasts(5); got != 5*time.Minute {
		t.Errorf("five minutes last %s", got)
	}
	if got := lasts(600); got > 90*time.Minute || got < 59*time.Minute {
		t.Errorf("ten hours last %s, and the caller's own token no more than 90 minutes", got)
	}
	clock.at = clock.at.Add(55 * time.Minute)
	if got := lasts(0); got > 35*time.Minute || got < 4*time.Minute {
		t.Errorf("after 55 minutes of the caller's token a new one lasts %s", got)
	}

	several := func(body map[string]any) (embedAnswer, *http.Response) {
		t.Helper()
		var a embedAnswer
		res := s.call(product, "POST", personPath+"/GenerateToken", body, &a)
		return a, res
	}
	item := func(id string) map[string]any { return map[string]any{"id": id} }
	lots := func(n int, id string) (list []any) {
		for range n {
			list = append(list, item(id))
		}
		return list
	}
	for name, c := range map[string]struct {
		body   map[string]any
		status int
	}{
		"nothing":          {map[string]any{}, 400},
		"50 datasets":      {map[string]any{"datasets": lots(50, s.DatasetID("Sales"))}, 200},
		"51 datasets":      {map[string]any{"datasets": lots(51, s.DatasetID("Sales"))}, 400},
		"51 reports":       {map[string]any{"reports": lots(51, s.reportID("Commercial", "Sales overview"))}, 400},
		"51 workspaces":    {map[string]any{"datasets": lots(1, s.DatasetID("Sales")), "targetWorkspaces": lots(51, s.WorkspaceID("Commercial"))}, 400},
		"a workspace":      {map[string]any{"datasets": lots(1, s.DatasetID("Sales")), "targetWorkspaces": lots(1, s.WorkspaceID("Finance"))}, 200},
		"no workspace":     {map[string]any{"datasets": lots(1, s.DatasetID("Sales")), "targetWorkspaces": lots(1, sample.TenantID)}, 404},
		"My workspace":     {map[string]any{"datasets": lots(1, s.DatasetID("Sales scratch"))}, 403},
		"no such report":   {map[string]any{"reports": lots(1, sample.TenantID)}, 404},
		"no such dataset":  {map[string]any{"datasets": lots(1, sample.TenantID)}, 404},
		"data source SSO":  {map[string]any{"datasets": lots(1, s.DatasetID("Sales")), "datasourceIdentities": []any{map[string]any{}}}, 400},
		"without identity": {map[string]any{"datasets": lots(1, s.DatasetID("Regional sales"))}, 400},
	} {
		if a, res := several(c.body); res.StatusCode != c.status {
			t.Errorf("%s: %s %+v, want %d", name, res.Status, a.Error, c.status)
		}
	}
	// Whose it is learns why not; for others it is as if it were not there.
	for person, want := range map[string]int{"ada": 400, "curator": 404} {
		res := s.call(s.powerBI(person), "POST", personPath+"/GenerateToken", map[string]any{"datasets": lots(1, s.DatasetID("Sales scratch"))}, nil)
		if res.StatusCode != want {
			t.Errorf("for a dataset in My workspace of ada %s is answered %s, want %d", person, res.Status, want)
		}
	}
	if res := s.call("nonsense", "POST", personPath+"/GenerateToken", map[string]any{}, nil); res.StatusCode != 401 {
		t.Errorf("without a token of Entra's: %s", res.Status)
	}
}

// SAMPLE-03, SAMPLE-09: every visual of every report of the company is drawn.
func TestEveryReportIsDrawn(t *testing.T) {
	s := sharedSite(t)
	admin := s.powerBI("admin")
	n := 0
	for _, workspace := range []string{"Commercial", "Finance", "Supply chain", "People", "Customer care"} {
		var reports list
		s.call(admin, "GET", personPath+"/groups/"+s.WorkspaceID(workspace)+"/reports", nil, &reports)
		for _, r := range reports.Value {
			id := r["id"].(string)
			if want := s.url + "/reportEmbed?reportId=" + id + "&groupId=" + s.WorkspaceID(workspace); r["embedUrl"] != want {
				t.Errorf("embedUrl %s, want %s", r["embedUrl"], want)
			}
			d, res := s.describe("Bearer", admin, id)
			if res.StatusCode != 200 {
				t.Fatalf("%s: %s %+v", r["name"], res.Status, d.Error)
			}
			for _, page := range d.Pages {
				visuals := []any{}
				for _, v := range page.Visuals {
					visuals = append(visuals, map[string]any{"name": v.Name})
				}
				var answer struct {
					Visuals []struct {
						Rows  [][]any
						Error struct{ Message string }
					}
				}
				s.explore("Bearer", admin, id+"/query", map[string]any{"page": page.Name, "visuals": visuals}, &answer)
				for i, v := range answer.Visuals {
					if n++; len(v.Rows) == 0 {
						t.Errorf("%s, %s: no rows %s", r["name"], page.Visuals[i].Title, v.Error.Message)
					}
				}
			}
		}
	}
	if n < 80 {
		t.Errorf("only %d visuals", n)
	}
}

// SAMPLE-06: what is hidden from a person is a visual that cannot be shown, beside
// those that can.
func TestHiddenColumnsAreNotDrawn(t *testing.T) {
	s := sharedSite(t)
	product, id := s.product(), s.reportID("People", "Headcount")
	open := func(role string) string {
		var a embedAnswer
		s.call(product, "POST", personPath+"/groups/"+s.WorkspaceID("People")+"/reports/"+id+"/GenerateToken", map[string]any{
			"identities": []any{map[string]any{"username": "x", "roles": []any{role}, "datasets": []any{s.DatasetID("People")}}},
		}, &a)
		d, _ := s.describe("EmbedToken", a.Token, id)
		var answer map[string]any
		s.explore("EmbedToken", a.Token, id+"/query", map[string]any{"page": d.Pages[0].Name, "visuals": []any{map[string]any{"name": d.Pages[0].Visuals[2].Name}}}, &answer)
		return fmt.Sprint(answer)
	}
	if got := open("Team leads"); !strings.Contains(got, "error") || strings.Contains(got, "rows") {
		t.Errorf("a role from which the pay is hidden is answered %s", got)
	}
	if got := open("Pay office"); !strings.Contains(got, "rows") || strings.Contains(got, "error") {
		t.Errorf("a role that shows the pay is answered %s", got)
	}
}

// SAMPLE-09: only pages of this machine, or those that are named, may frame a
// report, and the page loads nothing from elsewhere.
func TestTheReportPageIsFenced(t *testing.T) {
	for name, c := range map[string]struct {
		embeddedBy []string
		want       string
	}{
		"by default": {nil, "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:*"},
		"as told":    {[]string{"https://book.example"}, "frame-ancestors https://book.example"},
	} {
		s := newSite(t, sample.Config{EmbeddedBy: c.embeddedBy})
		res := s.call("", "GET", "/reportEmbed?reportId=x", nil, nil)
		policy := res.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", c.want} {
			if !strings.Contains(policy+";", part+";") {
				t.Errorf("%s: the policy is %s, want %s in it", name, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %s", name, policy)
		}
		for file, kind := range map[string]string{"report.js": "text/javascript", "protocol.js": "text/javascript", "report.css": "text/css"} {
			if res := s.call("", "GET", "/reportEmbed/"+file, nil, nil); res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), kind) {
				t.Errorf("%s: %s %s", file, res.Status, res.Header.Get("Content-Type"))
			}
		}
		if res := s.call("", "GET", "/reportEmbed/report.html", nil, nil); res.StatusCode != 404 {
			t.Errorf("the template itself is answered %s", res.Status)
		}
	}
}

// SAMPLE-09: the tenant's own pages show a person what is shared with them.
func TestPortal(t *testing.T) {
	s := sharedSite(t)
	read := func(path string) (string, int) {
		res := s.call("", "GET", path, nil, nil)
		page, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(page), res.StatusCode
	}
	who, _ := read("/home")
	contains(t, who, "person=ada%40sample.example")
	ada, _ := read("/home?person=ada@sample.example")
	contains(t, ada, "Regions")
	if strings.Contains(ada, "Board pack") {
		t.Error("ada is shown a report of Finance")
	}
	outsider, _ := read("/home?person=outsider@sample.example")
	contains(t, outsider, "Nothing is shared")
	former, _ := read("/home?person=former@sample.example")
	contains(t, former, "Whose reports?")
	address := "/groups/" + s.WorkspaceID("Commercial") + "/reports/" + s.reportID("Commercial", "Regions")
	if page, status := read(address + "?person=ada@sample.example"); status != 200 || !strings.Contains(page, `data-token="H4sI`) {
		t.Errorf("ada opens it: %d %s", status, page)
	}
	if page, status := read(address + "?person=outsider@sample.example"); status != 403 || strings.Contains(page, "data-token") {
		t.Errorf("an outsider opens it: %d %s", status, page)
	}
	if _, status := read("/groups/x/reports/y"); status != 404 {
		t.Errorf("no report: %d", status)
	}
}

// SAMPLE-07 SAMPLE-09: a report that is the first to ask for the rows of a changed
// dataset is drawn as before, and so is whoever asks next.
func TestReportsAreDrawnAfterARename(t *testing.T) {
	s := newSite(t, sample.Config{Unlimited: true})
	token := s.powerBI("curator")
	overview := s.reportID("Commercial", "Sales overview")
	before := s.drawnValue("Bearer", token, overview, "Net sales")
	s.change("columns/rename", map[string]any{"dataset": s.DatasetID("Sales"), "table": "Sales", "column": "Order date", "to": "Ordered on"})
	s.change("tables/rename", map[string]any{"dataset": s.DatasetID("Sales"), "table": "Customer", "to": "Client"})
	if got := s.drawnValue("Bearer", token, overview, "Net sales"); got != before {
		t.Errorf("drawn %s, and before the change %s", got, before)
	}
	if got := grouped(s.as("curator").number("Sales", "[Net sales]")); got != before {
		t.Errorf("answered %s, and before the change %s", got, before)
	}
}
