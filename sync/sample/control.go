package sample

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// ControlPath is where a running tenant is changed and asked about itself. It is
// not part of what Microsoft serves.
const ControlPath = "/_sample/"

// mountControl serves the changes, and what may be asked.
func (t *Tenant) mountControl(mux *http.ServeMux) {
	handle := func(pattern string, h http.HandlerFunc) {
		method, path, _ := strings.Cut(pattern, " ")
		t.controls = append(t.controls, pattern)
		mux.HandleFunc(method+" "+ControlPath+path, func(w http.ResponseWriter, r *http.Request) {
			if problem := t.foreign(r); problem != "" {
				http.Error(w, problem, http.StatusForbidden)
				return
			}
			h(w, r)
		})
	}
	for _, c := range Changes() {
		handle("POST "+c.Path, t.posted(func(w http.ResponseWriter, body []byte) error {
			if err := c.do(t, body); err != nil {
				return err
			}
			w.WriteHeader(http.StatusNoContent)
			return nil
		}))
	}
	handle("POST tokens", t.posted(t.issueToken))
	handle("GET people", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, t.People()) })
	handle("GET datasets", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusOK, t.Datasets(r.URL.Query().Get("name")))
	})
	handle("GET requests", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusOK, t.asked.with(r.URL.Query().Get("prefix")))
	})
	handle("DELETE faults", func(w http.ResponseWriter, _ *http.Request) {
		t.Mend()
		w.WriteHeader(http.StatusNoContent)
	})
}

// posted takes a body of JSON. No page of another origin can send one without
// asking first, which nothing here allows.
func (t *Tenant) posted(do func(w http.ResponseWriter, body []byte) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
			http.Error(w, "the body must be application/json", http.StatusUnsupportedMediaType)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err == nil {
			err = do(w, body)
		}
		switch {
		case err == nil:
		case errors.Is(err, knowledge.ErrNotFound):
			http.Error(w, err.Error(), http.StatusNotFound)
		default:
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

// foreign says why a request does not come from somebody who means this tenant: a
// page whose name somebody made lead here (DNS rebinding) names another host, and
// a page of another origin that one.
func (t *Tenant) foreign(r *http.Request) string {
	own := func(host string) bool {
		if configured, err := url.Parse(t.cfg.URL); err == nil && t.cfg.URL != "" && strings.EqualFold(configured.Host, host) {
			return true
		}
		name := host
		if h, _, err := net.SplitHostPort(host); err == nil {
			name = h
		}
		addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
		return err == nil && addr.IsLoopback() || strings.EqualFold(name, "localhost")
	}
	if !own(r.Host) {
		return fmt.Sprintf("%q is not the host of this tenant: ask 127.0.0.1 or localhost, or start it with --public-url", r.Host)
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return "pages of other origins may not change this tenant"
		}
	}
	return ""
}

// A DatasetEntry tells of a dataset what one needs to ask for it.
type DatasetEntry struct {
	Name        string `json:"name"`
	Workspace   string `json:"workspace"`
	Description string `json:"description"`
	Tables      int    `json:"tables"`
	Measures    int    `json:"measures"`
	Roles       int    `json:"roles"`
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
}

// Datasets lists the datasets of a name or id, or all where that is empty.
func (t *Tenant) Datasets(name string) []DatasetEntry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := []DatasetEntry{}
	for w := range t.workspaces() {
		for _, d := range w.datasets {
			if name != "" && !strings.EqualFold(d.name, name) && !strings.EqualFold(d.id, name) {
				continue
			}
			e := DatasetEntry{
				Name: d.name, Workspace: w.name, Description: d.description, Tables: len(d.model().Tables), Roles: len(d.model().Roles),
				ID: d.id, WorkspaceID: w.id,
			}
			for _, tbl := range d.model().Tables {
				e.Measures += len(tbl.Measures)
			}
			list = append(list, e)
		}
	}
	return list
}

// issueToken gives an access token without the pages of a sign-in: of a person, or
// of the scanner's registration where nobody is named.
func (t *Tenant) issueToken(w http.ResponseWriter, body []byte) error {
	var in struct {
		Person   string `json:"person"`
		Resource string `json:"resource"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	resource, ok := map[string]string{"": PowerBIAudience, "powerbi": PowerBIAudience, "graph": GraphAudience}[strings.ToLower(in.Resource)]
	if !ok {
		return fmt.Errorf("resource is %q, and must be powerbi or graph", in.Resource)
	}
	if in.Person == "" {
		answer, problem := t.tokenOfApp(ScannerID, resource)
		if problem != nil {
			return errors.New(problem.description)
		}
		writeJSON(w, http.StatusOK, answer)
		return nil
	}
	t.mu.RLock()
	p := t.personByName(in.Person)
	t.mu.RUnlock()
	switch {
	case p == nil:
		return missing("person", in.Person)
	case p.disabled.Load():
		return fmt.Errorf("%s is disabled: Entra gives such a person no token", p.upn)
	}
	names := slices.Clone(consented[resource])
	slices.Sort(names)
	token, seconds, err := t.accessToken(grant{person: p, client: AppID}, resource, names)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, object{"token_type": "Bearer", "expires_in": seconds, "access_token": token})
	return nil
}
