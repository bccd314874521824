package signin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/pbmb/pbmb/internal/entraid"
	"github.com/pbmb/pbmb/oauth/store"
)

// openIDClaims are those of OpenID Connect's standard claims that count.
type openIDClaims struct {
	Email         string          `json:"email"`
	EmailVerified json.RawMessage `json:"email_verified"`
	Name          string          `json:"name"`
}

// verifiedEmail gives the email that counts: a provider vouches for one by the
// value true, and by no other that looks like it (SIGNIN-10).
func (c *openIDClaims) verifiedEmail() (string, error) {
	email, ok := entraid.Address(c.Email)
	if !ok || string(c.EmailVerified) != "true" {
		return "", errNoEmail
	}
	return email, nil
}

// identifyOpenID reads who an ID token of an OpenID Connect provider's is about.
// An admin who adds a provider lets it speak for every domain that it says is
// verified (SIGNIN-17).
func identifyOpenID(p Provider, token *oidc.IDToken) (store.SignIn, error) {
	var c struct {
		openIDClaims
		Groups groupClaim `json:"groups"`
	}
	if err := token.Claims(&c); err != nil {
		return store.SignIn{}, fmt.Errorf("%w: %w", errUntrusted, err)
	}
	email, err := c.verifiedEmail()
	if err != nil {
		return store.SignIn{}, err
	}
	return store.SignIn{
		Provider: p.ID, AccountID: accountID(p.Issuer, token.Subject),
		Email: email, EmailVerified: true, VouchedDomain: domainOf(email), Name: personName(c.Name),
		GroupIDs: c.Groups, GroupsRead: true,
	}, nil
}

// accountID is what an account is kept by. Subjects are told apart by letter case,
// and are of one issuer: should a provider's id ever come to stand for another
// issuer, nobody there is taken for somebody here.
func accountID(issuer, subject string) string {
	sum := sha256.Sum256([]byte(issuer + "\n" + subject))
	return hex.EncodeToString(sum[:])
}

const (
	maxGroups = 1000
	maxGroup  = 200 // bytes
)

// A groupClaim is a list of groups' names, or one name. A provider that sends
// something else names no group.
type groupClaim []string

// UnmarshalJSON never fails: what it does not know gives nobody anything.
func (g *groupClaim) UnmarshalJSON(raw []byte) error {
	*g = nil
	var names []string
	if json.Unmarshal(raw, &names) != nil {
		var one string
		if json.Unmarshal(raw, &one) != nil {
			return nil
		}
		names = []string{one}
	}
	for _, name := range names {
		if name != "" && len(name) <= maxGroup && !strings.ContainsFunc(name, unicode.IsControl) && len(*g) < maxGroups {
			*g = append(*g, name)
		}
	}
	return nil
}

const maxName = 200

// personName gives a name for people to read, on one line and not without end.
func personName(name string) string {
	runes := []rune(strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, name)))
	return string(runes[:min(len(runes), maxName)])
}
