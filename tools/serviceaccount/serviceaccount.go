// Package serviceaccount has the operations on service accounts, the programs that
// call the API by a key of their own, and on their keys. What such a program can
// never do is in package operation, beside the guard.
package serviceaccount

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pbmb/pbmb/internal/clientaddr"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// An Account is a service account.
type Account struct {
	ID            string
	Name          string
	Roles         []string
	WorkspaceIDs  []string       // what it may reach: the datasets of these workspaces
	AppIDs        []string       // and of these apps
	Sources       []netip.Prefix // where it may call from; empty for anywhere
	MaxKeyAgeDays int
	Disabled      bool
	CreatedAt     time.Time
	CreatedBy     string
	ChangedAt     time.Time
	ChangedBy     string
}

// A Key is a key of an account, without the key itself.
type Key struct {
	ID        string
	Name      string
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt time.Time // when it stops at the latest, as its account has it now
	RevokedAt time.Time // zero where it was not
	Live      bool
}

// Accounts keeps accounts and keys. Every write audits in its own transaction. The
// error is [knowledge.ErrNotFound] for an account or key that is not there, and
// [knowledge.ErrConflict] for a name that is taken.
type Accounts interface {
	ListAccounts(context.Context) ([]Account, error)
	Account(ctx context.Context, id string) (Account, error)
	CreateAccount(ctx context.Context, by *policies.Principal, a Account) (Account, error)
	// ChangeAccount lets change edit an account; action is what the audit calls it. An
	// error of change's own is returned, and nothing is written.
	ChangeAccount(ctx context.Context, by *policies.Principal, action, id string, change func(*Account) error) (Account, error)
	// DeleteAccount deletes an account with its keys.
	DeleteAccount(ctx context.Context, by *policies.Principal, id string) (Account, error)

	ListKeys(ctx context.Context, accountID string) ([]Key, error)
	// CreateKey returns the key itself, which is kept nowhere, and what is kept of it.
	CreateKey(ctx context.Context, by *policies.Principal, accountID, name string, days int) (string, Key, error)
	RevokeKey(ctx context.Context, by *policies.Principal, accountID, keyID string) error

	// AddressIsProven says whether clients' addresses come from a proxy that the
	// operator named, so that an account can be limited by them.
	AddressIsProven() bool
}

// Operations returns every operation of this package.
func Operations(a Accounts) []*operation.Def {
	return []*operation.Def{
		List(a), Get(a), Create(a), Update(a), Disable(a), Enable(a), Delete(a),
		ListKeys(a), CreateKey(a), RevokeKey(a),
	}
}

// An Item is an account as callers see it.
type Item struct {
	ID            string    `json:"id" doc:"Id of the account" format:"uuid"`
	Name          string    `json:"name" doc:"Name of the account"`
	Roles         []string  `json:"roles" doc:"Its roles"`
	WorkspaceIDs  []string  `json:"workspace_ids" doc:"Workspaces whose datasets it reaches"`
	AppIDs        []string  `json:"app_ids" doc:"Apps whose datasets it reaches"`
	SourceCIDRs   []string  `json:"source_cidrs" doc:"Ranges of addresses that it may call from; empty for anywhere"`
	MaxKeyAgeDays int       `json:"max_key_age_days" doc:"How many days old a key of it may be"`
	Disabled      bool      `json:"disabled" doc:"Whether its keys open nothing for now"`
	CreatedAt     time.Time `json:"created_at" doc:"When it was made"`
	CreatedBy     string    `json:"created_by" doc:"Who made it"`
	ChangedAt     time.Time `json:"changed_at" doc:"When it was last changed"`
	ChangedBy     string    `json:"changed_by" doc:"Who changed it last"`
}

func newItem(a Account) Item {
	sources := make([]string, len(a.Sources))
	for i, s := range a.Sources {
		sources[i] = s.String()
	}
	return Item{
		ID: a.ID, Name: a.Name, Roles: a.Roles, WorkspaceIDs: a.WorkspaceIDs, AppIDs: a.AppIDs, SourceCIDRs: sources,
		MaxKeyAgeDays: a.MaxKeyAgeDays, Disabled: a.Disabled,
		CreatedAt: a.CreatedAt.UTC(), CreatedBy: a.CreatedBy, ChangedAt: a.ChangedAt.UTC(), ChangedBy: a.ChangedBy,
	}
}

// AccountInput names one account.
type AccountInput struct {
	Account string `json:"account" doc:"Id of the account, from the list of service accounts" format:"uuid" pattern:"^[0-9a-fA-F-]{36}$"`
}

// answer is an account as callers see it, or what they are to be told instead.
func answer(a Account, err error) (Item, error) {
	if err != nil {
		return Item{}, explain(err)
	}
	return newItem(a), nil
}

func explain(err error) error {
	switch {
	case errors.Is(err, knowledge.ErrNotFound):
		return &operation.Error{Kind: operation.NotFound, Sentence: "There is no such service account.", Next: "The list of service accounts has their ids."}
	case errors.Is(err, knowledge.ErrConflict):
		return &operation.Error{Kind: operation.Conflict, Sentence: "There is a service account of this name already.", Next: "Choose another name, or change that one."}
	}
	return err
}

var roleName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// checkRoles refuses the roles that no service account may have (SVC-14), and names
// that nobody knows unless the caller says that their own policies do.
func checkRoles(roles []string, custom bool) error {
	for _, r := range roles {
		switch {
		case r == policies.RoleAdmin, r == policies.RolePIIReader:
			return operation.Invalidf("Give it viewer or curator, and let a person do the rest.", "A service account can be neither admin nor pii_reader.")
		case r == policies.RoleViewer, r == policies.RoleCurator:
		case !roleName.MatchString(r):
			return operation.Invalidf("Use lower-case letters, digits and underscores.", "%q cannot be a role.", r)
		case !custom:
			return operation.Invalidf("Take viewer or curator, or say custom: true for a role of your own policies.", "%q is no role that comes with the product.", r)
		}
	}
	return nil
}

// parseSources reads ranges of addresses. No account is given any where an address
// would rest on a header that nothing proves (SVC-11).
func parseSources(sources []string, proven bool) ([]netip.Prefix, error) {
	if len(sources) > 0 && !proven {
		return nil, operation.Invalidf("Leave source_cidrs out, or have the operator set TRUSTED_PROXY.",
			"An account can be limited by address only where TRUSTED_PROXY is set.")
	}
	parsed := make([]netip.Prefix, len(sources))
	for i, s := range sources {
		p, err := clientaddr.ParseRange(s)
		if err != nil {
			return nil, operation.Invalidf("Write ranges such as 203.0.113.0/24 or 2001:db8::/32.", "source_cidrs: %v.", err)
		}
		if whole, err := netip.ParsePrefix(s); err == nil && whole != whole.Masked() {
			return nil, operation.Invalidf(fmt.Sprintf("Write %s, or the address alone.", p), "source_cidrs: %q has an address within its range.", s)
		}
		parsed[i] = p
	}
	return parsed, nil
}

func folded(ids []string) []string {
	lower := make([]string, len(ids))
	for i, id := range ids {
		lower[i] = strings.ToLower(id)
	}
	slices.Sort(lower)
	return slices.Compact(lower)
}
