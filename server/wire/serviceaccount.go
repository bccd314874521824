package wire

import (
	"context"
	"errors"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/serviceaccount"
)

// serviceAccounts keeps service accounts for the operations on them.
type serviceAccounts struct {
	people *oauthstore.Store
	proven bool
}

func (s serviceAccounts) AddressIsProven() bool { return s.proven }

func (s serviceAccounts) ListAccounts(ctx context.Context) ([]serviceaccount.Account, error) {
	all, err := s.people.ServiceAccounts(ctx)
	list := make([]serviceaccount.Account, len(all))
	for i, a := range all {
		list[i] = serviceaccount.Account(a)
	}
	return list, err
}

func (s serviceAccounts) Account(ctx context.Context, id string) (serviceaccount.Account, error) {
	a, err := s.people.ServiceAccount(ctx, id)
	return serviceaccount.Account(a), asKnown(err)
}

func (s serviceAccounts) CreateAccount(ctx context.Context, by *policies.Principal, a serviceaccount.Account) (serviceaccount.Account, error) {
	made, err := s.people.CreateServiceAccount(ctx, by, oauthstore.ServiceAccount(a))
	return serviceaccount.Account(made), asKnown(err)
}

func (s serviceAccounts) ChangeAccount(ctx context.Context, by *policies.Principal, action, id string, change func(*serviceaccount.Account) error) (serviceaccount.Account, error) {
	changed, err := s.people.ChangeServiceAccount(ctx, by, action, id, func(a *oauthstore.ServiceAccount) error {
		return change((*serviceaccount.Account)(a))
	})
	return serviceaccount.Account(changed), asKnown(err)
}

func (s serviceAccounts) DeleteAccount(ctx context.Context, by *policies.Principal, id string) (serviceaccount.Account, error) {
	gone, err := s.people.DeleteServiceAccount(ctx, by, id)
	return serviceaccount.Account(gone), asKnown(err)
}

func (s serviceAccounts) ListKeys(ctx context.Context, accountID string) ([]serviceaccount.Key, error) {
	all, err := s.people.APIKeys(ctx, accountID)
	keys := make([]serviceaccount.Key, len(all))
	for i, k := range all {
		keys[i] = serviceaccount.Key(k)
	}
	return keys, asKnown(err)
}

func (s serviceAccounts) CreateKey(ctx context.Context, by *policies.Principal, accountID, name string, days int) (string, serviceaccount.Key, error) {
	key, made, err := s.people.CreateAPIKey(ctx, by, accountID, name, days)
	return key, serviceaccount.Key(made), asKnown(err)
}

func (s serviceAccounts) RevokeKey(ctx context.Context, by *policies.Principal, accountID, keyID string) error {
	return asKnown(s.people.RevokeAPIKey(ctx, by, accountID, keyID))
}

// asKnown makes an error of the database one that operations know.
func asKnown(err error) error {
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		return knowledge.ErrNotFound
	case errors.Is(err, postgres.ErrDuplicate):
		return knowledge.ErrConflict
	}
	return err
}
