// Package catalogue is the explicit list of every operation of the product. What
// is not here, no transport serves.
package catalogue

import (
	"time"

	"github.com/pbmb/pbmb/tools/admin"
	"github.com/pbmb/pbmb/tools/check"
	"github.com/pbmb/pbmb/tools/column"
	"github.com/pbmb/pbmb/tools/dataset"
	"github.com/pbmb/pbmb/tools/me"
	"github.com/pbmb/pbmb/tools/measure"
	"github.com/pbmb/pbmb/tools/operation"
	"github.com/pbmb/pbmb/tools/pii"
	"github.com/pbmb/pbmb/tools/provider"
	"github.com/pbmb/pbmb/tools/query"
	"github.com/pbmb/pbmb/tools/role"
	"github.com/pbmb/pbmb/tools/search"
	"github.com/pbmb/pbmb/tools/secret"
	"github.com/pbmb/pbmb/tools/serviceaccount"
	"github.com/pbmb/pbmb/tools/setting"
	"github.com/pbmb/pbmb/tools/status"
	"github.com/pbmb/pbmb/tools/sync"
)

// Stores is what the operations stand on. A zero value will do where they are
// only described, as in documents, commands and golden files.
type Stores struct {
	Me          me.Store
	Search      search.Store
	Datasets    dataset.Store
	Columns     column.Store
	Measures    measure.Store
	Queries     query.Runner
	PII         pii.Store
	Views       pii.Views
	Values      pii.Settings
	Audit       admin.Audit
	Roles       role.Assignments
	Policies    role.Policies
	Settings    setting.Store
	Accounts    serviceaccount.Accounts
	Secrets     secret.Store
	Providers   provider.Store
	Status      status.Store
	Checks      check.Store
	Grants      admin.Grants
	Connections admin.Connections
	Syncs       sync.Store

	Deployment string // its name
	Version    string // of the program
	Now        func() time.Time
}

// All returns every operation.
func All(s Stores) []*operation.Def {
	var all []*operation.Def
	for _, some := range [][]*operation.Def{
		me.Operations(s.Me),
		search.Operations(s.Search),
		dataset.Operations(s.Datasets),
		column.Operations(s.Columns),
		measure.Operations(s.Measures),
		query.Operations(s.Queries),
		pii.Operations(s.PII, s.Views, s.Values),
		admin.Operations(s.Audit, s.Grants, s.Connections),
		role.Operations(s.Roles, s.Policies),
		setting.Operations(s.Settings),
		serviceaccount.Operations(s.Accounts),
		provider.Operations(s.Providers),
		secret.Operations(s.Secrets, s.Now),
		check.Operations(s.Checks),
		sync.Operations(s.Syncs),
		status.Operations(s.Status, s.Deployment, s.Version, s.Now),
	} {
		all = append(all, some...)
	}
	return all
}
