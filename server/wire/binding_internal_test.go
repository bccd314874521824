package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/setting"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/server/config"
)

// TENANT-07 TENANT-10 TENANT-11: the api and the worker refuse the same databases.
func TestBinding(t *testing.T) {
	const own, other = "5a3b1c00-7e57-4000-8000-0000000c0de5", "6b1f0f3e-6f0c-4f5a-9b0e-1d2c3b4a5960"
	const mock, real = "http://localhost:8090/login", "https://login.microsoftonline.com"
	for name, tt := range map[string]struct {
		bound     string // the tenant of the database; empty where it has none
		forget    bool   // the binding is lost, the admin is not
		saved     string // the setting powerbi.tenant_id; empty where it is not saved
		authority string
		says      string // of the error; empty where it is accepted
	}{
		"a new database":                    {"", false, "", mock, ""},
		"the tenant's own":                  {own, false, "", mock, ""},
		"the same, and saved":               {own, false, own, mock, ""},
		"another tenant's":                  {other, false, "", mock, "belongs to the tenant " + other},
		"the sample tenant's":               {own, false, "", real, "other side of the sample tenant"},
		"an admin and no tenant":            {own, true, "", mock, "belongs to no tenant"},
		"the same at a real address":        {own, true, "", real, "belongs to no tenant"},
		"its own, and another is saved":     {own, false, other, mock, "names the tenant " + other},
		"a new database, another one saved": {"", false, other, mock, "names the tenant " + other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.New(t)
			people := oauthstore.New(db.API(), setting.Base{})
			if tt.bound != "" {
				first := oauthstore.FirstAdmin{Email: "admin@sample.example", TenantID: tt.bound, Mock: true}
				if err := people.BindFirstAdmin(t.Context(), first, time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			if tt.forget {
				db.Exec("delete from deployment_tenant")
			}
			if tt.saved != "" {
				// Past the trigger, as only the owner of the table can.
				db.Exec("alter table setting disable trigger user")
				db.Exec("insert into setting (key, value) values ('powerbi.tenant_id', to_jsonb($1::text))", tt.saved)
			}
			cfg := config.Config{TenantID: own, Authority: tt.authority}
			for process, err := range map[string]error{
				"api":    checkBinding(t.Context(), people, setting.New(db.API(), setting.Base{}), cfg),
				"worker": checkWorkerBinding(t.Context(), db.Worker(), cfg),
			} {
				if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("the %s: error %v, want one that says %q", process, err, tt.says)
				}
			}
		})
	}
}
