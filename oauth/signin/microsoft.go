package signin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"

	"github.com/pbmb/pbmb/oauth/store"
)

// errWrongTenant is returned for a genuine account of another tenant.
var errWrongTenant = errors.New("the account is of another tenant")

// claims are those of Entra's ID token that count.
type claims struct {
	TenantID          string          `json:"tid"`
	ObjectID          string          `json:"oid"`
	Name              string          `json:"name"`
	Email             string          `json:"email"`
	EmailOwner        json.RawMessage `json:"xms_edov"`
	PreferredUsername string          `json:"preferred_username"`
	Groups            []string        `json:"groups"`
}

// identifyMicrosoft reads who an ID token of Entra's is about.
func identifyMicrosoft(p Provider, token *oidc.IDToken) (store.SignIn, error) {
	var c claims
	if err := token.Claims(&c); err != nil {
		return store.SignIn{}, fmt.Errorf("%w: %w", errUntrusted, err)
	}
	if !strings.EqualFold(c.TenantID, p.TenantID) {
		return store.SignIn{}, errWrongTenant
	}
	objectID, err := uuid.Parse(c.ObjectID)
	if err != nil {
		return store.SignIn{}, fmt.Errorf("%w: the object id is missing", errUntrusted)
	}
	email, ok := c.email()
	if !ok {
		return store.SignIn{}, errNoEmail
	}
	return store.SignIn{
		Provider: store.Microsoft, AccountID: objectID.String(), ObjectID: objectID.String(),
		Email: email, EmailVerified: true, VouchedDomain: domainOf(email), Name: personName(c.Name),
		// Where there are too many groups the claim is absent, and Graph is asked.
		GroupIDs: lowerAll(c.Groups), GroupsRead: c.Groups != nil,
	}, nil
}

// email gives the email that counts (SIGNIN-11): Entra fills the claim from the
// directory's mail attribute, which anybody's admin may set to anything, unless
// it says that the domain's owner was verified.
func (c *claims) email() (string, bool) {
	if string(c.EmailOwner) == "true" {
		if email, ok := emailOf(c.Email); ok {
			return email, true
		}
	}
	if strings.Contains(strings.ToUpper(c.PreferredUsername), "#EXT#") {
		return "", false // the directory's own name for a guest, not their address
	}
	return emailOf(c.PreferredUsername)
}

func lowerAll(ids []string) []string {
	lower := make([]string, 0, len(ids))
	for _, id := range ids {
		if parsed, err := uuid.Parse(id); err == nil {
			lower = append(lower, parsed.String())
		}
	}
	return lower
}
