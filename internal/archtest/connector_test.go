package archtest_test

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// connectorPackages are the packages without a database that the connector's code
// may come to, its handlers' included.
var connectorPackages = strings.Fields(`
	internal/recent internal/requestid internal/unexpected internal/fetch knowledge knowledge/dax knowledge/dax/reference
	knowledge/pii knowledge/query knowledge/visibility oauth/authn oauth/protocol oauth/session policies policies/cerbos
	server/mcpserver server/web sync/entra sync/model sync/powerbi
	tools/column tools/dataset tools/me tools/measure tools/operation tools/query tools/search`)

// connectorReads are, of the packages that have a database, the exported functions
// that the connector's code may come to.
var connectorReads = map[string]string{
	"internal/audit":               "Write WriteQuery Writer.Write",
	"internal/postgres":            "Translate Tx",
	"internal/ratelimit":           "DB.QueryRow Limiter.Allow Limiter.Count Limiter.Take NewRule",
	"internal/revision":            "DB.Query Of Read Revisions.Known",
	"internal/vault":               "Vault.Open Vault.Recipient Vault.Seal",
	"knowledge/secret":             "Define Store.Open",
	"knowledge/setting":            "Base.With Database.Query Definition.Example Definition.Rule Query.Timeout Store.Read",
	"knowledge/store":              "Store.CanEdit Store.CountDataset Store.FindDatasets Store.ListColumns Store.ListDatasets Store.ListMeasures Store.ListTables Store.LogQuery Store.Model Store.NearestDatasets Store.NearestTables Store.NoteConnector Store.Rules Store.Search",
	"knowledge/store/db":           "DBTX.Exec DBTX.Query DBTX.QueryRow New Queries.AddCalculationGroups Queries.AddCalculationItems Queries.AddFunctions Queries.AddRelationships Queries.CalculationGroups Queries.DeleteCalculationGroups Queries.DeleteCalculationItems Queries.DeleteFunctions Queries.ModelReaders Queries.ReadParts Queries.SchemaHash Queries.SetModelRead Queries.SetModelUnread",
	"knowledge/store/relationship": "Store.AddGroups Store.AddRelationships Store.Fail Store.Readers Store.Schema Store.SetFunctions Store.SetItems",
	"oauth/connection":             "Connections.Status Connections.Token Entra.Refresh OAuthCode Vault.Open Vault.Seal",
	"oauth/connection/db":          "DBTX.Exec DBTX.QueryRow New Queries.Connection Queries.EndConnection Queries.LockConnection Queries.SaveTokens",
	"oauth/store":                  "Digest Store.CallerByGrant Store.CallerBySession Store.Keys",
	"oauth/store/db":               "DBTX.Query DBTX.QueryRow Queries.Keys Queries.Principal",
	"oauth/provider":               "Provider.Verify",
	"server/wire":                  "",
}

// connectorWrites are the functions among all these that write, each with what
// it writes. Nothing else that is come to sends a statement
// that writes.
var connectorWrites = map[string]string{
	"internal/audit.asAuditWriter":                       "the query log, the row of a client and day, and refusals",
	"internal/audit.Write":                               "the row of a client and day, and refusals",
	"internal/audit.WriteQuery":                          "the query log",
	"internal/ratelimit.Limiter.Take":                    "counting calls",
	"knowledge/store.Store.NoteConnector":                "it takes the lock of its row",
	"knowledge/store/db.Queries.AddRelationships":        "the relationships that a check of a query depends on",
	"knowledge/store/db.Queries.AddCalculationGroups":    "which tables are calculation groups, which a check depends on too",
	"knowledge/store/db.Queries.DeleteCalculationGroups": "the same, read anew",
	"knowledge/store/db.Queries.AddCalculationItems":     "and what their items do",
	"knowledge/store/db.Queries.DeleteCalculationItems":  "the same, read anew",
	"knowledge/store/db.Queries.AddFunctions":            "and the functions of the model",
	"knowledge/store/db.Queries.DeleteFunctions":         "the same, read anew",
	"knowledge/store/db.Queries.SetModelRead":            "the same reading, and when it was",
	"knowledge/store/db.Queries.SetModelUnread":          "the same reading, and why it failed",
	"oauth/connection/db.Queries.SaveTokens":             "the caller's own tokens, renewed",
	"oauth/connection/db.Queries.EndConnection":          "the caller's own connection, which Microsoft takes no longer",
}

// libraries are the packages of others that the connector's code may come to,
// beside the standard library without what starts programs or goes past types.
var libraries = strings.Fields(`
	filippo.io/age github.com/cerbos/cerbos-sdk-go github.com/cerbos/cerbos/api github.com/danielgtaylor/huma/v2 github.com/jackc/pgx/v5
	github.com/mark3labs/mcp-go golang.org/x google.golang.org github.com/ory/fosite github.com/go-jose/go-jose github.com/coreos/go-oidc github.com/goccy/go-yaml github.com/golang-jwt/jwt/v5`)

// elsewhere are methods that are found because their types have an interface of a
// library, and no value of which comes to the connector.
var elsewhere = strings.Fields(`
	server/folder.asDatasets.Plan server/cli.statusWriter.WriteHeader server/cli/account.agent.RoundTrip sync/sample.statusWriter.WriteHeader sync/sample/report.Field.UnmarshalYAML`)

var forbidden = []string{"os/exec", "plugin", "unsafe", "syscall", "runtime/cgo", "debug/buildinfo"}

// MCP-11, MCP-10: from the connector and from the declarations of the operations
// that it serves, everything that can be come to is on these lists: of what has a
// database, only what reads, and what writes by name. [reach] says what counts as
// come to; a handler is a root by its own declaration, and never by way of the guard.
func TestWhatTheConnectorReaches(t *testing.T) {
	holds(t, "connector", connectorReach)
}

func connectorReach(t tree) []finding {
	operation := t.root + "/tools/operation"
	r := newReach(t, func(f *types.Var) bool {
		return f.IsField() && f.Name() == "Handle" && f.Pkg() != nil && f.Pkg().Path() == operation
	})
	for _, p := range t.packages {
		below, _ := t.below(p.PkgPath)
		if forTests(below) {
			continue
		}
		if below == "server/mcpserver" {
			for _, file := range p.Syntax {
				r.from(p, file)
			}
		}
		inspect(p, func(n ast.Node, above []ast.Node) {
			if literal, ok := n.(*ast.CompositeLit); ok && onConnector(p, literal, operation) {
				r.from(p, declaration(above))
			}
		})
	}
	out := r.found
	usedReads, usedWrites := map[string]bool{}, map[string]bool{}
	for o, l := range r.seen {
		f, ok := o.(*types.Func)
		if !ok || f.Pkg() == nil {
			continue
		}
		if says := r.unlisted(f, usedReads); says != "" {
			out = append(out, t.find(l.in, l.pos, "the connector comes to %s, %s: %s", symbol(f), says, r.how(f)))
		}
	}
	for o, l := range r.writes {
		if o == nil || o.Pkg() == nil {
			continue
		}
		below, _ := t.below(o.Pkg().Path())
		name := below + "." + symbol(o)
		if usedWrites[name] = true; connectorWrites[name] == "" {
			out = append(out, t.find(l.in, l.pos, "the connector comes to %s, which writes: %s", name, r.how(o)))
		}
	}
	if t.root == module { // the lists are the project's
		for pkg, names := range connectorReads {
			for _, name := range strings.Fields(names) {
				if !usedReads[pkg+"."+name] {
					out = append(out, finding{what: "nothing of the connector comes to " + pkg + "." + name + ": take it off the list"})
				}
			}
		}
		for name := range connectorWrites {
			if !usedWrites[name] {
				out = append(out, finding{what: "nothing of the connector comes to " + name + ", or it writes no longer: take it off the list"})
			}
		}
	}
	return out
}

// unlisted says why f may not be come to; empty where it may.
func (r *reach) unlisted(f *types.Func, used map[string]bool) string {
	below, inside := r.below(f.Pkg().Path())
	if !inside {
		path := f.Pkg().Path()
		first, _, _ := strings.Cut(path, "/")
		standard := !strings.Contains(first, ".")
		if standard && !slices.Contains(forbidden, path) || slices.ContainsFunc(libraries, func(l string) bool { return path == l || strings.HasPrefix(path, l+"/") }) {
			return ""
		}
		return "of the package " + path + ", which is on no list"
	}
	if slices.Contains(strings.Fields(connectorReads[below]), symbol(f)) {
		used[below+"."+symbol(f)] = true
		return ""
	}
	if f.Signature().Recv() != nil && (slices.Contains(byReflection, f.Name()) || slices.Contains(elsewhere, below+"."+symbol(f))) {
		return "" // every error that there is; what it comes to is looked at
	}
	_, listed := connectorReads[below]
	if !listed && !r.speaks[f.Pkg()] {
		if slices.Contains(connectorPackages, below) || below == "." {
			return ""
		}
		return "of the package " + below + ", which is not on the list connectorPackages"
	}
	switch {
	case !listed:
		return "of the package " + below + ", which is not on the list connectorReads"
	case !f.Exported():
		return "" // what it comes to and what it writes is looked at
	case below == "server/wire":
		return "" // its types bind the interfaces of the tools to what stands here, and are looked through
	}
	return "which is not on the list of " + below
}

// declaration is what stands at the top around a node.
func declaration(above []ast.Node) ast.Node {
	for _, n := range above {
		if f, ok := n.(*ast.FuncDecl); ok {
			return f
		}
	}
	return above[0]
}

// onConnector reports whether a literal declares an operation that the connector
// serves, or may serve for all that can be seen of it.
func onConnector(p *packages.Package, literal *ast.CompositeLit, operation string) bool {
	if !named(p.TypesInfo.TypeOf(literal), operation, "Operation") {
		return false
	}
	for _, e := range literal.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Surfaces" {
			value := p.TypesInfo.Types[pair.Value].Value
			if value == nil {
				return true
			}
			surfaces, exact := constant.Int64Val(value)
			return !exact || surfaces&1 != 0
		}
	}
	return false
}
