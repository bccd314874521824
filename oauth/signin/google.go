package signin

import (
	"fmt"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/pbmb/pbmb/oauth/store"
)

// identifyGoogle reads who an ID token of Google's is about. A personal account
// may have any address for its email; only what Google says in hd, that an
// organisation manages the account, vouches for a domain (SIGNIN-18).
func identifyGoogle(p Provider, token *oidc.IDToken) (store.SignIn, error) {
	var c struct {
		openIDClaims
		HostedDomain string `json:"hd"`
	}
	if err := token.Claims(&c); err != nil {
		return store.SignIn{}, fmt.Errorf("%w: %w", errUntrusted, err)
	}
	email, err := c.verifiedEmail()
	if err != nil {
		return store.SignIn{}, err
	}
	in := store.SignIn{
		Provider: p.ID, AccountID: accountID(p.Issuer, token.Subject),
		Email: email, EmailVerified: true, Name: personName(c.Name),
	}
	if domain := domainOf(email); strings.EqualFold(c.HostedDomain, domain) {
		in.VouchedDomain = domain
	}
	return in, nil
}
