package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pbmb/pbmb/sync/sample"
)

// A powerBI is a sample tenant in the place of Power BI: by TLS for a browser that
// is told to find app.powerbi.com there, and without for everybody else.
type powerBI struct {
	t      *testing.T
	tenant *sample.Tenant
	plain  string // its other address
	tls    string // host and port
	late   atomic.Int64
}

func newPowerBI(t *testing.T) *powerBI {
	t.Helper()
	p := &powerBI{t: t}
	var err error
	p.tenant, err = sample.New(sample.Config{
		URL: "https://app.powerbi.com", Unlimited: true, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Now().Add(time.Duration(p.late.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewUnstartedServer(p.tenant.Handler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the browser says of each connection that nobody vouches for it
	secure.StartTLS()
	t.Cleanup(secure.Close)
	// The browser asks for time to pass.
	mux := http.NewServeMux()
	mux.HandleFunc("POST /later", func(http.ResponseWriter, *http.Request) { p.late.Add(int64(2 * time.Hour)) })
	mux.Handle("/", p.tenant.Handler())
	plain := httptest.NewServer(mux)
	t.Cleanup(plain.Close)
	p.plain, p.tls = plain.URL, strings.TrimPrefix(secure.URL, "https://")
	return p
}

// post sends JSON or a form and reads the JSON of the answer.
func (p *powerBI) post(path, token string, body, into any) {
	p.t.Helper()
	var reader io.Reader
	kind := "application/json"
	if form, ok := body.(url.Values); ok {
		reader, kind = strings.NewReader(form.Encode()), "application/x-www-form-urlencoded"
	} else {
		data, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		reader = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.plain+path, reader)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		p.t.Fatalf("%s answered %s: %s", path, res.Status, data)
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), into); err != nil {
		p.t.Fatalf("%s answered %s: %v", path, data, err)
	}
}

const tokenPath = sample.LoginPath + "/" + sample.TenantID + "/oauth2/v2.0/"

// entra redeems a grant for an access token for Power BI.
func (p *powerBI) entra(grant url.Values) string {
	p.t.Helper()
	grant.Set("client_id", sample.AppID)
	grant.Set("client_secret", sample.AppSecret)
	grant.Set("scope", sample.PowerBIAudience+"/.default")
	var answer struct {
		Token string `json:"access_token"`
	}
	p.post(tokenPath+"token", "", grant, &answer)
	return answer.Token
}

// person signs somebody in and returns their access token for Power BI.
func (p *powerBI) person(email string) string {
	p.t.Helper()
	const back = "http://localhost:9/callback"
	query := url.Values{"client_id": {sample.AppID}, "response_type": {"code"}, "redirect_uri": {back}, "scope": {sample.PowerBIAudience + "/.default"}}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.PostForm(p.plain+tokenPath+"authorize?"+query.Encode(), url.Values{"person": {email}})
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	to, err := res.Location()
	if err != nil {
		p.t.Fatal(err)
	}
	return p.entra(url.Values{"grant_type": {"authorization_code"}, "code": {to.Query().Get("code")}, "redirect_uri": {back}})
}

// An embedded report is what a host page embeds.
type embedded struct {
	Token    string `json:"token"`
	Expected string `json:"expected"` // net sales by executeQueries
	France   string `json:"france"`   // those of France
}

// TestReportPage embeds reports of the sample tenant in a real Chromium by
// Microsoft's own library; reports.mjs says what is done there.
//
// SAMPLE-09
func TestReportPage(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on the PATH")
	}
	p := newPowerBI(t)
	app := p.entra(url.Values{"grant_type": {"client_credentials"}})
	regional, group := p.tenant.DatasetID("Regional sales"), p.tenant.WorkspaceID("Commercial")
	reports := p.reports(group)

	ask := func(token, expression string) string {
		t.Helper()
		var answer struct {
			Results []struct {
				Tables []struct {
					Rows []map[string]any `json:"rows"`
				} `json:"tables"`
			} `json:"results"`
		}
		p.post(sample.PowerBIPath+"/v1.0/myorg/datasets/"+regional+"/executeQueries", token, map[string]any{
			"queries":            []any{map[string]any{"query": `EVALUATE ROW ( "n", FORMAT ( ` + expression + `, "#,0.00" ) )`}},
			"serializerSettings": map[string]any{"includeNulls": true},
		}, &answer)
		text, _ := answer.Results[0].Tables[0].Rows[0]["[n]"].(string)
		return text
	}
	generate := func(body map[string]any) string {
		t.Helper()
		var answer struct {
			Token string `json:"token"`
		}
		p.post(sample.PowerBIPath+"/v1.0/myorg/GenerateToken", app, body, &answer)
		return answer.Token
	}
	people := map[string]embedded{}
	for _, name := range []string{"ada", "grace"} {
		email := name + "@sample.example"
		own := p.person(email)
		people[name] = embedded{
			Token: generate(map[string]any{
				"reports": []any{map[string]any{"id": reports["Regions"]}}, "datasets": []any{map[string]any{"id": regional}},
				"identities": []any{map[string]any{"username": email, "roles": []string{"By salesperson"}, "datasets": []string{regional}}},
			}),
			Expected: ask(own, "[Net sales]"),
			France:   ask(own, `CALCULATE ( [Net sales], Region[Country] = "France" )`),
		}
	}
	plan := map[string]any{
		"chromium": chromium, "tls": p.tls, "plain": p.plain, "shots": os.Getenv(shotsEnv),
		"group": group, "reports": reports, "people": people, "regional": regional,
		"entra": tokenPath + "token", "client": sample.AppID, "secret": sample.AppSecret, "scope": sample.PowerBIAudience + "/.default",
		"generate": sample.PowerBIPath + "/v1.0/myorg/GenerateToken",
		"overview": generate(map[string]any{
			"reports": []any{map[string]any{"id": reports["Sales overview"]}}, "datasets": []any{map[string]any{"id": p.tenant.DatasetID("Sales")}},
		}),
	}
	var steps []struct {
		Name  string `json:"name"`
		Error string `json:"error"`
		MS    int    `json:"ms"`
	}
	node(t, &steps, plan, "reports.mjs")
	if len(steps) == 0 {
		t.Fatal("nothing was embedded")
	}
	for _, s := range steps {
		t.Run(s.Name, func(t *testing.T) {
			t.Logf("%d ms", s.MS)
			if s.Error != "" {
				t.Error(s.Error)
			}
		})
	}
}

// reports are the ids of the reports of a workspace by name.
func (p *powerBI) reports(group string) map[string]string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.plain+sample.PowerBIPath+"/v1.0/myorg/groups/"+group+"/reports", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.person("curator@sample.example"))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	var list struct {
		Value []struct{ ID, Name, EmbedURL string }
	}
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		p.t.Fatal(err)
	}
	ids := map[string]string{}
	for _, r := range list.Value {
		if want := "https://app.powerbi.com/reportEmbed?reportId=" + r.ID + "&groupId=" + group; r.EmbedURL != want {
			p.t.Errorf("embedUrl %s, want %s", r.EmbedURL, want)
		}
		ids[r.Name] = r.ID
	}
	return ids
}
