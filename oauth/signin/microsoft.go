package signin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"

	"github.com/pbmb/pbmb/internal/entraid"
	"github.com/pbmb/pbmb/oauth/store"
)

// errWrongTenant is returned for a genuine account of another tenant.
var errWrongTenant = errors.New("the account is of another tenant")

// claims are those of Entra's ID token that count.
type claims struct {
	entraid.Claims
	TenantID string   `json:"tid"`
	ObjectID string   `json:"oid"`
	Name     string   `json:"name"`
	Groups   []string `json:"groups"`
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
	email, ok := c.Address()
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

func lowerAll(ids []string) []string {
	lower := make([]string, 0, len(ids))
	for _, id := range ids {
		if parsed, err := uuid.Parse(id); err == nil {
			lower = append(lower, parsed.String())
		}
	}
	return lower
}
