package matrixtest_test

import "fmt"

// columns are the kinds of caller, in the order in which a row has what they are
// answered. The last two are the curator's tokens; people bring a session.
var columns = []string{"anonymous", "outsider", "viewer", "curator", "elsewhere", "admin", "granted", "ungranted", "cli", "connector"}

// toolColumns are the people whose connector tokens every tool is called with. All
// other credentials get 401 from the connector, whatever the tool.
var toolColumns = []string{"outsider", "viewer", "curator", "elsewhere", "admin"}

// A row is a request to one operation or one route of the protocol, and what each
// kind of caller is answered. To add an operation, add one line with its name; a
// missing one fails with the line that is wanted.
type row struct {
	name string // of the operation, or the route: "POST /api/auth/sign-out"
	args string // JSON object: path, query or body of a request, and the arguments of the tool
	want string // a status for each of columns; one alone is for all of them
	tool string // "ok" or the kind of the error for each of toolColumns; empty where the connector does not serve it
	last bool   // it ends something that other rows need: it is asked after all others, caller by caller
}

// What most rows want, in the order of columns: anonymous, outsider, viewer, curator,
// elsewhere, admin, granted, ungranted, cli, connector.
const (
	anybody = "401 200 200 200 200 200 200 200 200 401" // whoever a role reaches
	ofSales = "401 404 200 200 404 200 200 404 200 401" // whoever sees the dataset Sales
	nowhere = "401 404 404 404 404 404 404 404 404 401" // what nobody sees

	toAll   = "ok ok ok ok ok"
	toSales = "not_found ok ok not_found ok"
	toNone  = "not_found not_found not_found not_found not_found"
)

// admins is for an admin's operations, which answer status to one.
func admins(status int) string {
	return fmt.Sprintf("401 403 403 403 403 %d 403 403 403 401", status)
}

// people is for the account of a person: no service account has one.
func people(status int) string {
	return fmt.Sprintf("401 %[1]d %[1]d %[1]d %[1]d %[1]d 403 403 %[1]d 401", status)
}

// sessions is for what a browser session alone opens.
func sessions(status int) string {
	return fmt.Sprintf("401 %[1]d %[1]d %[1]d %[1]d %[1]d 401 401 401 401", status)
}

const none = "00000000-0000-4000-8000-000000000000" // the id of nothing

// matrix is the authorization matrix: AUTHZ-26.
var matrix = []row{
	// The caller's own account.
	{name: "whoami", want: anybody, tool: toAll},
	{name: "list_my_grants", want: people(200)},
	{name: "end_my_grant", args: `{"grant":"none"}`, want: people(404)},
	{name: "disconnect_power_bi", want: people(200), last: true},

	// What is known of the tenant, as far as the caller sees it: ROLES-03.
	{name: "search", args: `{"query":"sales"}`, want: anybody, tool: toAll},
	{name: "search", args: `{"query":"net","dataset":"Sales"}`, want: ofSales, tool: toSales},
	{name: "list_datasets", want: anybody, tool: toAll},
	{name: "list_datasets", args: `{"words":"order lines"}`, want: anybody, tool: toAll},
	{name: "get_dataset", args: `{"dataset":"Sales"}`, want: ofSales, tool: toSales},
	{name: "get_dataset", args: `{"dataset":"Commercial/Sales"}`, want: ofSales, tool: toSales},
	{name: "get_dataset", args: `{"dataset":"@sales"}`, want: ofSales, tool: toSales},
	{name: "get_dataset", args: `{"dataset":"https://app.powerbi.com/groups/me/datasets/@sales/details"}`, want: ofSales, tool: toSales},
	{name: "get_dataset", args: `{"dataset":"` + none + `"}`, want: nowhere, tool: toNone},
	{name: "list_columns", args: `{"limit":200}`, want: anybody, tool: toAll},
	{name: "list_columns", args: `{"dataset":"Sales"}`, want: ofSales, tool: toSales},
	{name: "list_measures", args: `{"limit":200}`, want: anybody, tool: toAll},
	{name: "list_measures", args: `{"dataset":"Sales"}`, want: ofSales, tool: toSales},
	// ROLES-08: whoever may curate, and sees it.
	{name: "write_description", args: `{"dataset":"` + none + `","description":"x"}`, want: "401 403 403 404 404 404 404 404 404 401"},
	// ROLES-04: a query, of those whom Power BI lets see the dataset.
	{
		name: "execute_dax", args: `{"dataset":"Sales","dax":"EVALUATE ROW(\"x\", [Net sales])"}`,
		want: "401 404 200 200 404 200 403 404 200 401", tool: toSales,
	},

	// Administration: ROLES-07, ROLES-13, ROLES-14.
	{name: "list_pii_rules", want: admins(200)},
	{name: "mark_pii", args: `{"reference":"No such dataset/T[C]"}`, want: admins(200)},
	{name: "clear_pii", args: `{"reference":"No such dataset/T[C]"}`, want: admins(200)},
	{name: "remove_pii_rule", args: `{"reference":"No rule/T[C]"}`, want: admins(404)},
	{name: "release_pii", args: `{"reference":"No such dataset/T[C]"}`, want: admins(200)},
	{name: "restore_pii_rule", args: `{"reference":"No rule/T[C]","version":1}`, want: admins(404)},
	{name: "suggest_pii", args: `{"limit":200}`, want: admins(200)},
	{name: "explain_pii", args: `{"dataset":"Sales","query":"EVALUATE Sales"}`, want: admins(200)},
	{name: "list_all_datasets", args: `{"limit":200}`, want: admins(200)},
	{name: "switch_dataset_off", args: `{"dataset":"` + none + `"}`, want: admins(404)},
	{name: "switch_dataset_on", args: `{"dataset":"` + none + `"}`, want: admins(404)},
	{name: "list_checks", want: admins(200)},
	{name: "run_checks", want: admins(200)},
	{name: "get_sync_status", want: admins(200)},
	{name: "run_sync", want: admins(200)},
	{name: "list_audit", args: `{"limit":200}`, want: admins(200)},
	{name: "list_role_assignments", want: admins(200)},
	{name: "assign_role", args: `{"role":"viewer","person":"nobody@sample.example"}`, want: admins(200)},
	{name: "revoke_role", args: `{"assignment":"` + none + `"}`, want: admins(404)},
	{name: "list_grants", want: admins(200)},
	{name: "revoke_grant", args: `{"grant":"none"}`, want: admins(404)},
	{name: "list_connections", want: admins(200)},
	{name: "revoke_connection", args: `{"person":"` + none + `"}`, want: admins(404)},
	{name: "list_settings", want: admins(200)},
	{name: "get_setting", args: `{"key":"access.default_role"}`, want: admins(200)},
	{name: "set_setting", args: `{"key":"access.default_role","value":"viewer"}`, want: admins(200)},
	{name: "list_service_accounts", want: admins(200)},
	{name: "get_service_account", args: `{"account":"` + none + `"}`, want: admins(404)},
	{name: "create_service_account", args: `{"name":"of the matrix","roles":["viewer"]}`, want: admins(200)},
	{name: "update_service_account", args: `{"account":"` + none + `","name":"x"}`, want: admins(404)},
	{name: "enable_service_account", args: `{"account":"` + none + `"}`, want: admins(404)},
	{name: "disable_service_account", args: `{"account":"` + none + `"}`, want: admins(404)},
	{name: "delete_service_account", args: `{"account":"` + none + `"}`, want: admins(404)},
	{name: "list_service_account_keys", args: `{"account":"` + none + `"}`, want: admins(404)},
	{name: "create_service_account_key", args: `{"account":"` + none + `"}`, want: admins(404)},
	{name: "revoke_service_account_key", args: `{"account":"` + none + `","key":"` + none + `"}`, want: admins(404)},
	{name: "list_sign_in_providers", want: admins(200)},
	{name: "test_sign_in_provider", args: `{"kind":"oidc","id":"x","name":"X","issuer":"http://localhost","client_id":"x","client_secret":"x"}`, want: admins(400)},
	{name: "add_sign_in_provider", args: `{"test":"` + none + `"}`, want: admins(409)},
	{name: "remove_sign_in_provider", args: `{"provider":"none"}`, want: admins(404)},
	{name: "list_secrets", want: admins(200)},
	{name: "set_secret", args: `{"name":"no.such","value":"x"}`, want: admins(404)},
	{name: "get_status", want: admins(200)},

	// The API's description.
	{name: "GET /api/v1/openapi.json", want: anybody},
	{name: "GET /api/v1/openapi.yaml", want: anybody},

	// What a person does in the browser alone.
	{name: "GET /api/v1/oauth/consent", want: sessions(400)},
	{name: "POST /api/v1/oauth/consent", args: `{"query":"x","allow":true}`, want: sessions(400)},
	{name: "GET /api/v1/oauth/device", args: `{"user_code":"BCDF-GHJK"}`, want: sessions(404)},
	{name: "POST /api/v1/oauth/device", args: `{"user_code":"BCDF-GHJK","allow":true}`, want: sessions(404)},
	{name: "GET /api/v1/me/connection/start", want: sessions(303)},
	{name: "GET /api/connect/callback", want: sessions(303)},
	{name: "GET /api/auth/session", want: sessions(200)},
	{name: "POST /api/auth/sign-out", want: sessions(204), last: true},
	{name: "GET /api/auth/passkeys", want: sessions(200)},
	{name: "POST /api/auth/passkeys/options", args: `{}`, want: sessions(200)},
	{name: "POST /api/auth/passkeys", args: `{}`, want: sessions(400)},
	{name: "DELETE /api/auth/passkeys", args: `{"id":"none"}`, want: sessions(404)},

	// The connector, which checks its own token; its tools are the rows above.
	{name: "/api/mcp", want: "401 401 401 401 401 401 401 401 401 200"},

	// What answers without a credential, and answers all alike.
	{name: "GET /healthz", want: "204"},
	{name: "GET /readyz", want: "204"},
	{name: "GET /assets/:file", want: "404"},
	{name: "GET /.well-known/oauth-authorization-server", want: "200"},
	{name: "GET /.well-known/oauth-authorization-server/api/auth", want: "200"},
	{name: "GET /.well-known/oauth-protected-resource", want: "200"},
	{name: "GET /.well-known/oauth-protected-resource/api/mcp", want: "200"},
	{name: "GET /.well-known/oauth-protected-resource/api/v1", want: "200"},
	{name: "GET /api/auth/config", want: "200"},
	{name: "GET /api/auth/sign-in/microsoft", want: "303"},
	{name: "GET /api/auth/sign-in/google", want: "303"},
	{name: "GET /api/auth/sign-in/oidc", want: "404"},
	{name: "GET /api/auth/callback/microsoft", want: "303"},
	{name: "GET /api/auth/callback/google", want: "303"},
	{name: "GET /api/auth/callback/oidc", want: "303"},
	{name: "GET /api/auth/oauth2/authorize", want: "400"},
	{name: "POST /api/auth/dev-sign-in", args: `{}`, want: "400"},
	{name: "POST /api/auth/sign-in/passkey", args: `{}`, want: "400"},
	{name: "POST /api/auth/sign-in/passkey/options", args: `{}`, want: "200"},
	{name: "POST /api/auth/oauth2/token", args: `{"grant_type":"refresh_token","refresh_token":"x","client_id":"nobody"}`, want: "401"},
	{name: "POST /api/auth/oauth2/register", args: `{}`, want: "400"},
	{name: "POST /api/auth/oauth2/device_authorization", want: "401"},

	// The browser's shell, the same bytes for everybody.
	{name: "GET /", want: "200"},
	{name: "GET /sign-in", want: "200"},
	{name: "GET /consent", want: "200"},
	{name: "GET /device", want: "200"},
	{name: "GET /datasets/:id", want: "200"},
	{name: "GET /me", want: "200"},
	{name: "GET /admin/pii", want: "200"},
	{name: "GET /admin/datasets", want: "200"},
	{name: "GET /admin/roles", want: "200"},
	{name: "GET /admin/sign-in", want: "200"},
	{name: "GET /admin/audit", want: "200"},
	{name: "GET /catalog/categories/*", want: "200"},
}
