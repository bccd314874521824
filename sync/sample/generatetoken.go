package sample

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge/dax/eval"
)

// Power BI's limits on what an embedding token is made of.
const (
	itemsInEmbedToken   = 50 // reports, datasets and target workspaces, each
	rolesInIdentity     = 50
	roleNameInIdentity  = 50  // characters
	usernameInIdentity  = 256 // characters
	defaultEmbedMinutes = 60  // where the caller's own token lasts longer
)

// The permissions that a person needs; an app on its own behalf needs none.
var (
	readReports  = []string{"Report.Read.All", "Report.ReadWrite.All"}
	readDatasets = []string{"Dataset.Read.All", "Dataset.ReadWrite.All"}
)

// An effectiveIdentity is whose rows a token shows.
type effectiveIdentity struct {
	Username     string          `json:"username"`
	Roles        []string        `json:"roles"`
	Datasets     []string        `json:"datasets"`
	Reports      []string        `json:"reports"`
	CustomData   string          `json:"customData"`
	IdentityBlob json.RawMessage `json:"identityBlob"`
}

// An embedRequest is what either form of GenerateToken asks for.
type embedRequest struct {
	reports    []located
	datasets   []*dataset
	identities []effectiveIdentity
	minutes    int
}

// A refusal is an answer of GenerateToken other than a token.
type refusal struct {
	status        int
	code, message string
}

func invalidf(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "InvalidRequest", fmt.Sprintf(format, args...)}
}

var (
	errNotAuthorized = &refusal{status: http.StatusForbidden, code: "PowerBINotAuthorizedException"}
	errNoEntity      = &refusal{status: http.StatusNotFound, code: "PowerBIEntityNotFound"}
)

func (t *Tenant) mountEmbedTokens(mux *http.ServeMux) {
	handle := func(path string, read func(*http.Request, caller) (embedRequest, *refusal)) {
		t.handlePowerBI(mux, "POST "+path, "", func(w http.ResponseWriter, r *http.Request, c caller) {
			r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
			t.mu.RLock()
			defer t.mu.RUnlock()
			ask, refused := read(r, c)
			var of embedToken
			if refused == nil {
				of, refused = t.embedToken(ask, c)
			}
			if refused != nil {
				powerBIError(w, refused.status, refused.code, refused.message)
				return
			}
			token, made := t.embeds.issue(of)
			noStore(w)
			writeJSON(w, http.StatusOK, object{
				"@odata.context": t.base(r) + PowerBIPath + "/v1.0/myorg/$metadata#Microsoft.PowerBI.ServiceContracts.Api.V1.GenerateTokenResponse",
				"token":          token, "tokenId": made.id, "expiration": made.expires.UTC().Format(time.RFC3339),
			})
		})
	}
	handle("/GenerateToken", t.readEmbedRequest)
	handle("/groups/{group}/reports/{report}/GenerateToken", t.readReportRequest)
	handle("/groups/{group}/datasets/{dataset}/GenerateToken", t.readDatasetRequest)
}

// readEmbedRequest reads the form for several items.
func (t *Tenant) readEmbedRequest(r *http.Request, c caller) (embedRequest, *refusal) {
	type item struct {
		ID        string `json:"id"`
		AllowEdit bool   `json:"allowEdit"`
	}
	var body struct {
		Datasets             []item              `json:"datasets"`
		Reports              []item              `json:"reports"`
		TargetWorkspaces     []item              `json:"targetWorkspaces"`
		Identities           []effectiveIdentity `json:"identities"`
		DatasourceIdentities []json.RawMessage   `json:"datasourceIdentities"`
		LifetimeInMinutes    int                 `json:"lifetimeInMinutes"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return embedRequest{}, invalidf("The body is no JSON of this operation: %s", err)
	}
	for _, list := range [][]item{body.Datasets, body.Reports, body.TargetWorkspaces} {
		if len(list) > itemsInEmbedToken {
			return embedRequest{}, invalidf("A token is for at most %d reports, datasets and target workspaces each", itemsInEmbedToken)
		}
	}
	switch {
	case len(body.Datasets)+len(body.Reports) == 0:
		return embedRequest{}, invalidf("A token needs a report or a dataset")
	case len(body.DatasourceIdentities) > 0:
		return embedRequest{}, invalidf("The sample tenant has no data source that takes datasourceIdentities")
	case len(body.TargetWorkspaces) > 0 && c.person != nil && !c.may("Content.Create"):
		return embedRequest{}, errNotAuthorized
	}
	ask := embedRequest{identities: body.Identities, minutes: body.LifetimeInMinutes}
	for _, it := range body.TargetWorkspaces {
		if ws := t.workspaceByID(it.ID); ws == nil || ws.kind != "Workspace" || !t.writesIn(ws, c) {
			return ask, errNoEntity
		}
	}
	for _, it := range body.Reports {
		rep, ok := t.reportByID(it.ID)
		if !ok {
			return ask, errNoEntity
		}
		if it.AllowEdit && c.person != nil && !c.may("Report.ReadWrite.All") {
			return ask, errNotAuthorized
		}
		ask.reports = append(ask.reports, rep)
	}
	for _, it := range body.Datasets {
		d := t.datasetByID(it.ID)
		if d == nil {
			return ask, errNoEntity
		}
		ask.datasets = append(ask.datasets, d)
	}
	return ask, nil
}

// A oneItemBody is the body of the form for one item.
type oneItemBody struct {
	AccessLevel       string              `json:"accessLevel"`
	AllowSaveAs       bool                `json:"allowSaveAs"`
	Identities        []effectiveIdentity `json:"identities"`
	LifetimeInMinutes int                 `json:"lifetimeInMinutes"`
}

func readOneItem(r *http.Request, c caller) (oneItemBody, *refusal) {
	var body oneItemBody
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return body, invalidf("The body is no JSON of this operation: %s", err)
	}
	switch {
	case strings.EqualFold(body.AccessLevel, "Create"):
		return body, invalidf("The sample tenant makes no tokens for creating reports")
	case body.AccessLevel != "" && !strings.EqualFold(body.AccessLevel, "View") && !strings.EqualFold(body.AccessLevel, "Edit"):
		return body, invalidf("accessLevel must be View, Edit or Create")
	case c.person != nil && strings.EqualFold(body.AccessLevel, "Edit") && !c.may("Report.ReadWrite.All"),
		c.person != nil && body.AllowSaveAs && !c.may("Content.Create"):
		return body, errNotAuthorized
	}
	return body, nil
}

// readReportRequest reads the form for one report, which is for its dataset too.
func (t *Tenant) readReportRequest(r *http.Request, c caller) (embedRequest, *refusal) {
	body, refused := readOneItem(r, c)
	if refused != nil {
		return embedRequest{}, refused
	}
	ws := t.workspaceByID(r.PathValue("group"))
	if ws == nil {
		return embedRequest{}, errNoEntity
	}
	rep := ws.report(r.PathValue("report"))
	if rep == nil {
		return embedRequest{}, errNoEntity
	}
	return embedRequest{
		reports: []located{{rep, ws}}, datasets: []*dataset{rep.dataset}, identities: body.Identities, minutes: body.LifetimeInMinutes,
	}, nil
}

func (t *Tenant) readDatasetRequest(r *http.Request, c caller) (embedRequest, *refusal) {
	body, refused := readOneItem(r, c)
	if refused != nil {
		return embedRequest{}, refused
	}
	ws, d := t.workspaceByID(r.PathValue("group")), t.datasetByID(r.PathValue("dataset"))
	if ws == nil || d == nil || d.space.id != ws.id {
		return embedRequest{}, errNoEntity
	}
	return embedRequest{datasets: []*dataset{d}, identities: body.Identities, minutes: body.LifetimeInMinutes}, nil
}

// embedToken checks a request against the caller's rights and makes of it what
// the token will be good for.
func (t *Tenant) embedToken(ask embedRequest, c caller) (embedToken, *refusal) {
	if c.person != nil && (len(ask.reports) > 0 && !c.may(readReports...) || !c.may(readDatasets...)) {
		return embedToken{}, errNotAuthorized
	}
	of := embedToken{reports: map[string]bool{}, datasets: map[string]*eval.Identity{}}
	for _, rep := range ask.reports {
		switch {
		case !t.writesIn(rep.space, c):
			return of, noRight(c)
		case rep.space.kind != "Workspace":
			return of, invalidf("The report %s is in My workspace, which cannot be embedded for customers", rep.id)
		}
		of.reports[rep.id] = true
	}
	identities, refused := t.identitiesOf(ask)
	if refused != nil {
		return of, refused
	}
	for _, d := range ask.datasets {
		switch {
		case !t.writes(d, c):
			return of, noRight(c)
		case d.space.kind != "Workspace":
			return of, invalidf("The dataset %s is in My workspace, which cannot be embedded for customers", d.id)
		}
		as, refused := t.identityFor(d, identities[d.id], c)
		if refused != nil {
			return of, refused
		}
		of.datasets[d.id] = as
	}
	if ask.minutes < 0 {
		return of, invalidf("lifetimeInMinutes must not be negative")
	}
	life := defaultEmbedMinutes * time.Minute
	if ask.minutes > 0 {
		life = min(life, time.Duration(ask.minutes)*time.Minute)
	}
	of.expires = t.now().Add(life)
	if of.expires.After(c.expires) {
		of.expires = c.expires
	}
	return of, nil
}

// identitiesOf checks the identities of a request and sorts them by dataset.
func (t *Tenant) identitiesOf(ask embedRequest) (map[string]*effectiveIdentity, *refusal) {
	by := map[string]*effectiveIdentity{}
	for i := range ask.identities {
		in := &ask.identities[i]
		switch {
		case in.Username == "":
			return nil, invalidf("An effective identity needs a username")
		case len(in.Username) > usernameInIdentity || strings.ContainsFunc(in.Username, func(r rune) bool { return r < 0x20 || r > 0x7e }):
			return nil, invalidf("The username of an effective identity has at most %d characters, all of ASCII", usernameInIdentity)
		case len(in.Roles) > rolesInIdentity:
			return nil, invalidf("An effective identity has at most %d roles", rolesInIdentity)
		case len(in.IdentityBlob) > 0 && string(in.IdentityBlob) != "null":
			return nil, invalidf("identityBlob is for Azure SQL, of which the sample tenant has none")
		case len(in.Reports) > 0:
			return nil, invalidf("The reports of an effective identity are paginated ones, of which the sample tenant has none")
		case len(in.Datasets) == 0:
			return nil, invalidf("An effective identity needs the datasets that it is for")
		}
		for _, role := range in.Roles {
			if role == "" || strings.Contains(role, ",") || len([]rune(role)) > roleNameInIdentity {
				return nil, invalidf("The role %q of an effective identity must have from 1 to %d characters and no comma", role, roleNameInIdentity)
			}
		}
		for _, datasetID := range in.Datasets {
			j := slices.IndexFunc(ask.datasets, func(d *dataset) bool { return strings.EqualFold(d.id, datasetID) })
			if j < 0 {
				return nil, invalidf("The effective identity is for the dataset %s, which the token is not for", datasetID)
			}
			if d := ask.datasets[j]; by[d.id] != nil {
				return nil, invalidf("The dataset %s has more than one effective identity", d.id)
			}
			by[ask.datasets[j].id] = in
		}
	}
	return by, nil
}

// identityFor is whose rows of a dataset the token shows. An app has none of its
// own; a person who gives none shows what they see themselves. Whether the model
// has the roles is seen when the report opens, as at Power BI.
func (t *Tenant) identityFor(d *dataset, in *effectiveIdentity, c caller) (*eval.Identity, *refusal) {
	secured := len(d.model().Roles) > 0
	switch {
	case in != nil && !secured:
		return nil, invalidf("Creating embed token for accessing dataset %s shouldn't have effective identity", d.id)
	case in != nil && len(in.Roles) == 0:
		return nil, invalidf("Creating embed token for accessing dataset %s requires roles to be included in provided effective identity", d.id)
	case in != nil:
		return &eval.Identity{UPN: in.Username, CustomData: in.CustomData, Roles: slices.Clone(in.Roles)}, nil
	case !secured:
		return nil, nil
	case c.person == nil:
		return nil, invalidf("Creating embed token for accessing dataset %s requires effective identity to be provided", d.id)
	}
	as := t.identityOf(c.person, d)
	return &as, nil
}

// noRight is what a caller is told who may not write what is to be embedded: to a
// person it is not there.
func noRight(c caller) *refusal {
	if c.person == nil {
		return errNotAuthorized
	}
	return errNoEntity
}

// writesIn reports whether a caller may write what is in a workspace, which it
// takes to embed it.
func (t *Tenant) writesIn(ws *workspace, c caller) bool {
	if c.person != nil {
		return rightsOfRole(t.roleIn(ws, c.person)).write
	}
	for _, a := range live(ws.users) {
		if sp, ok := a.to.(*servicePrincipal); ok && sp.id == c.key {
			return rightsOfRole(a.right).write
		}
	}
	return false
}

// writes reports whether a caller may write a dataset.
func (t *Tenant) writes(d *dataset, c caller) bool {
	if c.person != nil {
		return t.rightsOn(c.person, d).write
	}
	return t.writesIn(d.space, c)
}

// A located report is one in its workspace.
type located struct {
	*report
	space *workspace
}

// reportByID finds a report of a workspace; an app's copy is none.
func (t *Tenant) reportByID(id string) (located, bool) {
	for ws := range t.workspaces() {
		if rep := ws.report(id); rep != nil {
			return located{rep, ws}, true
		}
	}
	return located{}, false
}

// report finds a report of a workspace, or gives nil.
func (w *workspace) report(id string) *report {
	for _, rep := range w.reports {
		if strings.EqualFold(rep.id, id) {
			return rep
		}
	}
	return nil
}
