package token_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/provider"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/oauth/token"
)

// queries keeps the text of every statement.
type queries struct {
	mu   sync.Mutex
	text []string
}

func (q *queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.text = append(q.text, data.SQL)
	return ctx
}

func (q *queries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (q *queries) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.text
	q.text = nil
	return taken
}

// OAUTH-23, OAUTH-24: what a form makes the database do.
func TestTheRefreshTokensOfAFormAreReadInOneQuery(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	access, used := browser.Tokens(client)
	_, live := browser.Tokens(client)
	s.Refresh(client, used)

	config, err := pgxpool.ParseConfig(s.DB.URL(postgres.API))
	if err != nil {
		t.Fatal(err)
	}
	log := &queries{}
	config.ConnConfig.Tracer = log
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	traced := token.New(provider.New(s.Site, store.New(pool, setting.Base{}), s.Documents, s.Keys, s.Clock.Now, slog.New(slog.DiscardHandler)))
	endpoint := httptest.NewServer(traced.Routes()[0].Handler)
	t.Cleanup(endpoint.Close)
	post := func(form url.Values) []string {
		t.Helper()
		log.take()
		resp, err := (&http.Client{Transport: fetchtest.Transport}).PostForm(endpoint.URL, form)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: %d", form, resp.StatusCode)
		}
		return log.take()
	}

	both := url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {live, used}}
	reads := 0
	asked := post(both)
	for _, sql := range asked {
		if strings.Contains(sql, "from oauth_refresh_token") {
			reads++
		}
	}
	if reads != 1 {
		t.Errorf("the refresh tokens are read %d times: %q", reads, asked)
	}
	if got := s.Call(access); got != http.StatusUnauthorized {
		t.Errorf("the used token was not seen: %d", got)
	}

	both["refresh_token"] = []string{live, used, "third"}
	if asked := post(both); len(asked) > 0 {
		t.Errorf("three refresh tokens: %q", asked)
	}
	many := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {live}}
	for _, c := range "abcdefghijk" {
		many.Set(string(c), "1")
	}
	if asked := post(many); len(asked) > 0 {
		t.Errorf("13 fields: %q", asked)
	}
}
