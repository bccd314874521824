package provider

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"
)

const tokenType = "at+jwt" // RFC 9068

// Claims are what an access token says. It says nothing of roles: these are
// read anew for each request.
type Claims struct {
	ClientID string `json:"client_id"`
	Scope    string `json:"scope"`
	GrantID  string `json:"gid"`
	jwt.RegisteredClaims
}

// accessTokens makes fosite issue our access tokens.
type accessTokens struct {
	keys   *Keys
	issuer string
	now    func() time.Time
}

var _ oauth2.AccessTokenStrategy = (*accessTokens)(nil)

func (a *accessTokens) GenerateAccessToken(_ context.Context, r fosite.Requester) (token, id string, err error) {
	audience := r.GetGrantedAudience()
	if len(audience) != 1 || audience[0] == "" || r.GetSession().GetSubject() == "" {
		return "", "", errors.New("an access token has exactly one audience and a subject")
	}
	now, id := a.now(), rand.Text()
	token, err = a.keys.sign(&Claims{
		ClientID: r.GetClient().GetID(),
		Scope:    strings.Join(r.GetGrantedScopes(), " "),
		GrantID:  r.GetID(),
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: a.issuer, Subject: r.GetSession().GetSubject(), Audience: jwt.ClaimStrings(audience), ID: id,
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(AccessTokenLife)),
		},
	})
	return token, id, err
}

// fosite asks for these two only where it introspects or revokes tokens, which
// it is not set up to do.

func (a *accessTokens) AccessTokenSignature(context.Context, string) string { return "" }

func (a *accessTokens) ValidateAccessToken(context.Context, fosite.Requester, string) error {
	return fosite.ErrRequestUnauthorized
}

// Verify checks all that a token says of itself: type, signature, issuer,
// expiry, and a single audience. Whether its grant still stands, and whether
// the audience is the one that was called, is for the caller to ask.
func (p *Provider) Verify(ctx context.Context, token string) (*Claims, error) {
	var claims Claims
	_, err := jwt.ParseWithClaims(token, &claims, func(t *jwt.Token) (any, error) {
		if typ, _ := t.Header["typ"].(string); typ != tokenType {
			return nil, errors.New("the type is not " + tokenType)
		}
		id, _ := t.Header["kid"].(string)
		return p.keys.public(ctx, id)
	},
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithIssuer(p.site.Issuer()),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithTimeFunc(p.now), jwt.WithStrictDecoding(),
	)
	if err != nil {
		return nil, fmt.Errorf("verifying an access token: %w", err)
	}
	if len(claims.Audience) != 1 || claims.GrantID == "" || claims.Subject == "" || claims.IssuedAt == nil {
		return nil, errors.New("verifying an access token: a claim is missing or repeated")
	}
	return &claims, nil
}
