package apitest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/web"
	"github.com/pbmb/pbmb/tools/catalogue"
	"github.com/pbmb/pbmb/tools/operation"
	"github.com/pbmb/pbmb/ui"
)

var parameter = regexp.MustCompile(`\{\w+\}|:\w+|\*`)

// filled is a route as a request: one method, and a path with nothing left open.
func filled(route string) (method, path string) {
	method, path, found := strings.Cut(route, " ")
	if !found {
		method, path = http.MethodGet, route
	}
	return method, parameter.ReplaceAllString(path, "x")
}

// NET-02, NET-03, NET-05, NET-08: the public list and the routes are compared in
// both directions, and every route with what it answers to nobody.
func TestThePublicListIsCompleteAndExact(t *testing.T) {
	d := newDeployment(t)
	public := web.PublicPaths(ui.Paths())
	for _, entry := range public {
		if !slices.Contains(d.routes, entry) {
			t.Errorf("%s is public and served nowhere", entry)
		}
		if strings.Contains(entry, "*") && entry != "GET /catalog/categories/*" {
			t.Errorf("%s is a wildcard", entry)
		}
		if strings.Contains(entry, " /api/v1") && entry != "GET /api/v1/results/:id/csv" {
			t.Errorf("%s is public below /api/v1", entry)
		}
	}
	for i, route := range d.routes {
		method, path := filled(route)
		// Each asks from an address of its own, so that no limit answers in the gate's place.
		a := d.from(fmt.Sprintf("203.0.113.%d", i)).send(method, path, nil)
		if isPublic, isOpen := slices.Contains(public, route), a.status != http.StatusUnauthorized; isPublic != isOpen {
			t.Errorf("%s answers %d to nobody; on the public list: %v", route, a.status, isPublic)
		}
	}
	if len(d.routes) < 40 {
		t.Errorf("only %d routes: is the table complete?", len(d.routes))
	}
	// What the catalogue declares is in the table, and nothing else of the API is.
	for _, o := range catalogue.All(catalogue.Stores{}) {
		served := slices.Contains(d.routes, o.Method+" /api/v1"+o.Path)
		if want := o.Surfaces&(operation.API|operation.Browser) != 0; served != want {
			t.Errorf("%s is served over REST: %v, want %v", o.Name, served, want)
		}
	}
}

// SIGNIN-04, SIGNIN-05: no route of the API and no tool answers a person whom no
// role reaches any more, by session or by token, with anything but 403.
func TestNoRouteAndNoToolPassesTheRoleGate(t *testing.T) {
	d := newDeployment(t)
	session := d.as("viewer@sample.example")
	client, _ := session.letIn()
	if a := session.send(http.MethodGet, "/api/v1/me", nil); a.status != http.StatusOK {
		t.Fatalf("before: %d %s", a.status, a.text)
	}
	d.db.Exec("delete from role_assignment where role <> 'admin'")
	d.db.Exec(`insert into setting (key, value) values ('access.default_role', '"none"') on conflict (key) do update set value = excluded.value`)
	asked := 0
	for _, route := range d.routes {
		method, path := filled(route)
		if !strings.HasPrefix(path, "/api/v1/") {
			continue
		}
		asked++
		if a := session.send(method, path, map[string]any{}); a.status != http.StatusForbidden {
			t.Errorf("%s by session: %d %s", route, a.status, a.text)
		}
	}
	for _, o := range catalogue.All(catalogue.Stores{}) {
		if o.Surfaces&operation.Connector == 0 {
			continue
		}
		asked++
		if a := client.tool(o.Name); a.status != http.StatusForbidden {
			t.Errorf("the tool %s: %d %s", o.Name, a.status, a.text)
		}
	}
	if asked < 25 {
		t.Errorf("only %d were asked", asked)
	}
}

// NET-16, NET-17, NET-19: three endpoints read no cookie and are exempt from the
// origin check; every other write is under it, and changes nothing where it fails.
func TestWhatIsExemptFromTheOriginCheck(t *testing.T) {
	d := newDeployment(t)
	exempt := []string{"POST /api/auth/oauth2/token", "POST /api/auth/oauth2/device_authorization", "POST /api/auth/oauth2/register"}
	session := d.as("admin@sample.example")
	for i, route := range d.routes {
		method, path := filled(route)
		if method == http.MethodGet {
			continue
		}
		session.address = fmt.Sprintf("203.0.113.%d", i)
		for name, origin := range map[string]string{"foreign": "https://evil.example", "null": "null", "no": ""} {
			a := session.send(method, path, map[string]any{}, "Origin", origin)
			if refused := a.status == http.StatusForbidden; refused == slices.Contains(exempt, route) {
				t.Errorf("%s with a %s origin: %d %s", route, name, a.status, a.text)
			}
		}
	}
	if a := session.send(http.MethodGet, "/api/auth/session", nil); a.status != http.StatusOK {
		t.Errorf("the session is gone: %d", a.status)
	}

	// NET-17: a registration from anywhere is served, and grants nothing.
	good := map[string]any{"redirect_uris": []string{"http://localhost/callback"}}
	for _, origin := range []string{"", "https://evil.example"} {
		if a := session.send(http.MethodPost, "/api/auth/oauth2/register", good, "Origin", origin); a.status != http.StatusCreated || a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("registering with the origin %q: %d %s", origin, a.status, a.text)
		}
	}
	var granted int
	d.db.QueryRow("select (select count(*) from oauth_grant) + (select count(*) from oauth_consent)", nil, &granted)
	if granted != 0 {
		t.Errorf("%d grants and consents", granted)
	}
}

// withinOneMinute calls f until it took place within one window of a limit.
func (d *deployment) withinOneMinute(f func(attempt int)) {
	d.t.Helper()
	minute := func() (m string) {
		d.db.QueryRow("select date_trunc('minute', clock_timestamp())::text", nil, &m)
		return m
	}
	for attempt := range 5 {
		before := minute()
		if f(attempt); minute() == before {
			return
		}
	}
	d.t.Fatal("this does not end within a minute")
}

// NET-25, NET-27, NET-28: how many an address has in a minute, and that another
// has its own; what is refused does nothing.
func TestLimitsOfAnAddress(t *testing.T) {
	d := newDeployment(t)
	client := map[string]any{"redirect_uris": []string{"http://localhost/callback"}}
	for name, c := range map[string]struct {
		method, path string
		body         any
		most, status int
	}{
		"NET-25 starting a sign-in":   {http.MethodGet, "/api/auth/sign-in/microsoft", nil, 60, http.StatusSeeOther},
		"NET-27 the token endpoint":   {http.MethodPost, "/api/auth/oauth2/token", url.Values{"grant_type": {"refresh_token"}}, 60, http.StatusBadRequest},
		"NET-28 dynamic registration": {http.MethodPost, "/api/auth/oauth2/register", client, 10, http.StatusCreated},
		"NET-26 the configuration":    {http.MethodGet, "/api/auth/config", nil, 100, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			var refused, other answer
			d.withinOneMinute(func(attempt int) {
				got = got[:0]
				one := d.from(fmt.Sprintf("203.0.113.%d", 10+attempt))
				for range c.most {
					got = append(got, one.send(c.method, c.path, c.body).status)
				}
				refused = one.send(c.method, c.path, c.body)
				other = d.from(fmt.Sprintf("203.0.113.%d", 20+attempt)).send(c.method, c.path, c.body)
			})
			if slices.Contains(got, http.StatusTooManyRequests) || got[0] != other.status || other.status == http.StatusTooManyRequests {
				t.Errorf("%d, and another address %d", got, other.status)
			}
			if got[0] != c.status {
				t.Errorf("the first is %d, want %d", got[0], c.status)
			}
			if refused.status != http.StatusTooManyRequests || refused.header.Get("Retry-After") == "" {
				t.Errorf("one more than %d: %d", c.most, refused.status)
			}
		})
	}
	t.Run("NET-28 no client of a refused registration", func(t *testing.T) {
		d.withinOneMinute(func(attempt int) {
			d.db.Exec("delete from oauth_client where kind = 'registered'")
			c := d.from(fmt.Sprintf("203.0.113.%d", 30+attempt))
			for range 15 {
				c.send(http.MethodPost, "/api/auth/oauth2/register", client)
			}
		})
		var n int
		d.db.QueryRow("select count(*) from oauth_client where kind = 'registered'", nil, &n)
		if n != 10 {
			t.Errorf("15 registrations made %d clients", n)
		}
	})
}

// NET-26: nothing below /api/auth is without a limit, served or not.
func TestEveryPathBelowAuthHasALimit(t *testing.T) {
	d := newDeployment(t)
	paths := []string{"GET /api/auth/jwks", "POST /api/auth/oauth2/introspect"}
	for _, route := range d.routes {
		if strings.Contains(route, " /api/auth/") {
			paths = append(paths, route)
		}
	}
	for i, route := range paths {
		method, path := filled(route)
		before := d.counts(t)
		d.from(fmt.Sprintf("203.0.113.%d", i)).send(method, path, nil)
		if d.counts(t) != before+1 {
			t.Errorf("%s is not counted", route)
		}
	}
}

func (d *deployment) counts(t *testing.T) (n int) {
	t.Helper()
	d.db.QueryRow("select coalesce(sum(count), 0) from request_rate", nil, &n)
	return n
}

// NET-33, NET-34, NET-36, NET-37, NET-39: the address that me shows is the one
// that is counted against.
func TestMeShowsTheClientsAddress(t *testing.T) {
	spoofed := []string{"X-Real-IP", "192.0.2.66", "Forwarded", "for=192.0.2.66", "CF-Connecting-IP", "192.0.2.66"}
	for name, c := range map[string]struct {
		change func(*config.Config)
		want   string
	}{
		"behind a trusted proxy": {func(*config.Config) {}, "198.51.100.9"},
		"without one":            {func(c *config.Config) { c.TrustedProxy = "" }, "127.0.0.1"},
		"behind another":         {func(c *config.Config) { c.TrustedProxy = "10.0.0.5" }, "127.0.0.1"},
		"by X-Real-IP":           {func(c *config.Config) { c.TrustedProxy, c.ClientAddressHeader = "", "x-real-ip" }, "192.0.2.66"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDeployment(t, c.change)
			viewer := d.as("viewer@sample.example")
			viewer.address = "192.0.2.1, 198.51.100.9"
			if a := viewer.send(http.MethodGet, "/api/v1/me", nil, spoofed...); a.field("client_address") != c.want {
				t.Errorf("%d: client_address %q, want %q", a.status, a.field("client_address"), c.want)
			}
		})
	}
}

// NET-41, NET-42: an unexpected error of a route, of a tool, and of the sign-in and
// the OAuth layer is one record each, of one function, and no value of a request is
// in it.
func TestAnUnexpectedErrorIsOneRecord(t *testing.T) {
	d := newDeployment(t)
	session := d.as("viewer@sample.example")
	client, _ := session.letIn()
	d.db.Exec("alter table powerbi_dataset rename to powerbi_dataset_gone")
	d.db.Exec("alter table oauth_client rename to oauth_client_gone")
	d.db.Exec("alter table sign_in_state rename to sign_in_state_gone")
	const mark = "a-value-of-the-request"
	for name, c := range map[string]struct {
		send   func() answer
		status int // 0: whatever the protocol says
	}{
		"a route":         {func() answer { return session.send(http.MethodGet, "/api/v1/datasets/"+mark, nil) }, http.StatusInternalServerError},
		"a tool":          {func() answer { return client.tool("list_datasets") }, 0},
		"the OAuth layer": {func() answer { return session.send(http.MethodGet, "/api/auth/oauth2/authorize?client_id="+mark, nil) }, http.StatusServiceUnavailable},
		"registration": {func() answer {
			return session.send(http.MethodPost, "/api/auth/oauth2/register", map[string]any{"client_name": mark, "redirect_uris": []string{"https://app.example/" + mark}})
		}, http.StatusServiceUnavailable},
		"the token endpoint": {func() answer {
			return session.send(http.MethodPost, "/api/auth/oauth2/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {mark}, "client_id": {mark}})
		}, http.StatusServiceUnavailable},
		"the sign-in": {func() answer { return session.send(http.MethodGet, "/api/auth/sign-in/microsoft?next=/me", nil) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(d.log.String())
			a := c.send()
			log := d.log.String()[before:]
			var records []string
			for line := range strings.Lines(log) {
				if strings.Contains(line, "level=ERROR") {
					records = append(records, line)
				}
			}
			if c.status != 0 && a.status != c.status {
				t.Errorf("answered %d %s", a.status, a.text)
			}
			if len(records) != 1 {
				t.Fatalf("%d records of %d %s:\n%s", len(records), a.status, a.text, log)
			}
			for _, part := range []string{"request_id=" + a.header.Get("X-Request-Id"), "error_name=*postgres.Error", "does not exist", "stack=", "unexpected.Log"} {
				if !strings.Contains(records[0], part) {
					t.Errorf("the record lacks %q: %s", part, records[0])
				}
			}
			if strings.Contains(log, mark) || strings.Contains(a.text, "does not exist") {
				t.Errorf("the log holds the request's value, or the answer the cause: %s\n%s", a.text, log)
			}
		})
	}
}
