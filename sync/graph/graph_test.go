package graph_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/sync/graph"
)

func newClient(t *testing.T, h http.Handler) (*graph.Client, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := fetch.NewFixed([]string{s.URL}, fetch.Options{Environment: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return graph.New(s.URL+"/v1.0", c), s.URL
}

func TestMe(t *testing.T) {
	c, _ := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1.0/me" || r.Header.Get("Authorization") != "Bearer tok" {
			t.Errorf("%s with %s", r.URL, r.Header.Get("Authorization"))
		}
		io.WriteString(w, `{"@odata.context":"x","id":"AB-1","userPrincipalName":"ada@north.example","displayName":"Ada","mail":null}`)
	}))
	got, err := c.Me(t.Context(), "tok")
	if want := (graph.Person{ID: "ab-1", UserPrincipalName: "ada@north.example", DisplayName: "Ada"}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestGroupIDs(t *testing.T) {
	c, _ := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in map[string]bool
		json.NewDecoder(r.Body).Decode(&in)
		if on, sent := in["securityEnabledOnly"]; r.Method != "POST" || r.URL.Path != "/v1.0/me/getMemberGroups" || on || !sent {
			t.Errorf("%s %s %v", r.Method, r.URL, in)
		}
		io.WriteString(w, `{"value":["B","a","b"]}`)
	}))
	got, err := c.GroupIDs(t.Context(), "tok")
	if err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// A person in more groups than one answer holds is read page by page.
func TestGroupIDsInPages(t *testing.T) {
	next := ""
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1.0/me/getMemberGroups", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"code":"Directory_ResultSizeLimitExceeded","message":"m"}}`)
	})
	mux.HandleFunc("GET /v1.0/me/transitiveMemberOf/microsoft.graph.group", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("ConsistencyLevel") != "eventual" {
			t.Error("no consistency level")
		}
		if r.URL.Query().Get("$skiptoken") == "" {
			fmt.Fprintf(w, `{"value":[{"id":"g1"},{"id":"g2"}],"@odata.nextLink":%q}`, next)
			return
		}
		io.WriteString(w, `{"value":[{"id":"g3","displayName":null}]}`)
	})
	elsewhere := false
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	defer foreign.Close()
	c, address := newClient(t, mux)

	next = address + "/v1.0/me/transitiveMemberOf/microsoft.graph.group?$skiptoken=2"
	got, err := c.GroupIDs(t.Context(), "tok")
	if err != nil || !slices.Equal(got, []string{"g1", "g2", "g3"}) {
		t.Errorf("got %v, %v", got, err)
	}
	next = foreign.URL + "/v1.0/me?$skiptoken=2"
	if got, err := c.GroupIDs(t.Context(), "tok"); err == nil || elsewhere {
		t.Errorf("a page elsewhere was followed: %v", got)
	}
}

func TestRefusal(t *testing.T) {
	c, _ := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(429)
		io.WriteString(w, `{"error":{"code":"TooManyRequests","message":"about ada"}}`)
	}))
	_, err := c.GroupIDs(t.Context(), "tok")
	var e *graph.Error
	if !errors.As(err, &e) || *e != (graph.Error{Status: 429, Code: "TooManyRequests", RetryAfter: 3 * time.Second}) {
		t.Errorf("got %v", err)
	}
}
