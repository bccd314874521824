package provider

import (
	"context"
	"crypto/rand"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"github.com/pbmb/pbmb/oauth/store"
)

// Codes and refresh tokens are random, and kept as digests. What fosite calls
// their signature is the digest. The prefixes let a scanner of leaked secrets
// recognise them.
const (
	codePrefix    = "pbmb_code_"
	refreshPrefix = "pbmb_rt_"
)

func newOpaque(prefix string) (token, digest string, err error) {
	token = prefix + rand.Text() + rand.Text()
	return token, string(store.Digest(token)), nil
}

type codes struct{}

var _ oauth2.AuthorizeCodeStrategy = codes{}

func (codes) AuthorizeCodeSignature(_ context.Context, code string) string {
	return string(store.Digest(code))
}

func (codes) GenerateAuthorizeCode(context.Context, fosite.Requester) (code, digest string, err error) {
	return newOpaque(codePrefix)
}

// ValidateAuthorizeCode has nothing to add: a code that was found is genuine,
// and the storage looks at its expiry.
func (codes) ValidateAuthorizeCode(context.Context, fosite.Requester, string) error { return nil }

type refreshTokens struct{}

var _ oauth2.RefreshTokenStrategy = refreshTokens{}

func (refreshTokens) RefreshTokenSignature(_ context.Context, token string) string {
	return string(store.Digest(token))
}

func (refreshTokens) GenerateRefreshToken(context.Context, fosite.Requester) (token, digest string, err error) {
	return newOpaque(refreshPrefix)
}

// ValidateRefreshToken has nothing to add, as with codes.
func (refreshTokens) ValidateRefreshToken(context.Context, fosite.Requester, string) error {
	return nil
}
