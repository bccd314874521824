package token_test

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/provider"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/oauth/token"
)

// BenchmarkRefresh is PERF-07: the token endpoint beside the same statements
// alone, both committing durably.
func BenchmarkRefresh(b *testing.B) {
	s := oauthtest.New(b, oauthtest.Options{})
	client := s.Register()
	_, refresh := s.SignIn("viewer@sample.example", oauthtest.ViewerID).Tokens(client)
	endpoint := token.New(s.Provider).Routes()[0].Handler

	b.Run("endpoint", func(b *testing.B) {
		for b.Loop() {
			form := url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {refresh}}
			r := httptest.NewRequest(http.MethodPost, token.Path, strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			endpoint(w, r)
			var answer provider.Tokens
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				b.Fatal(w.Code, w.Body)
			}
			refresh = answer.RefreshToken
		}
	})
	b.Run("bare", func(b *testing.B) {
		digest := store.Digest(refresh)
		for b.Loop() {
			if _, err := s.Store.Client(b.Context(), client); err != nil {
				b.Fatal(err)
			}
			old, err := s.Store.RefreshToken(b.Context(), digest)
			if err != nil {
				b.Fatal(err)
			}
			next := store.Digest(rand.Text())
			err = postgres.Tx(b.Context(), s.Store, func(tx pgx.Tx) error {
				in := s.Store.Within(tx)
				if err := in.SpendRefreshToken(b.Context(), old.ID, digest, s.Clock.Now()); err != nil {
					return err
				}
				return in.InsertRefreshToken(b.Context(), next, &store.RefreshToken{
					Grant: old.Grant, RequestedAt: s.Clock.Now(), ExpiresAt: s.Clock.Now().Add(provider.RefreshTokenLife),
				})
			})
			if err != nil {
				b.Fatal(err)
			}
			digest = next
		}
	})
}
