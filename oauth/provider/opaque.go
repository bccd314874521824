package provider

import (
	"context"
	"crypto/rand"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"
	"github.com/ory/fosite/handler/rfc8628"

	"github.com/pbmb/pbmb/oauth/store"
)

// Codes, refresh tokens and device codes are random, and kept as digests. What fosite calls
// their signature is the digest. The prefixes let a scanner of leaked secrets
// recognise them.
const (
	codePrefix    = "pbmb_code_"
	refreshPrefix = "pbmb_rt_"
	devicePrefix  = "pbmb_dc_"
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

// NewDeviceCode makes a device code; it is kept as its digest.
func NewDeviceCode() (code string, digest []byte) {
	code, kept, _ := newOpaque(devicePrefix) // crypto/rand does not fail
	return code, []byte(kept)
}

type deviceCodes struct{}

var _ rfc8628.DeviceCodeStrategy = deviceCodes{}

func (deviceCodes) DeviceCodeSignature(_ context.Context, code string) (string, error) {
	return string(store.Digest(code)), nil
}

func (deviceCodes) GenerateDeviceCode(context.Context) (code, digest string, err error) {
	return newOpaque(devicePrefix)
}

// ValidateDeviceCode has nothing to add, as with codes.
func (deviceCodes) ValidateDeviceCode(context.Context, fosite.DeviceRequester, string) error {
	return nil
}
