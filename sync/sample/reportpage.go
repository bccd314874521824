package sample

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	reports "github.com/pbmb/pbmb/sync/sample/report"
)

// filtersOnVisual bounds what one visual may be asked with.
const filtersOnVisual = 100

// A viewing is a report that a token opens, with whose rows it shows.
type viewing struct {
	of      *report
	dataset *dataset
	model   *knowledge.Model
	rows    rowSource
	as      eval.Identity
}

// loadFailed is a report that may be opened and cannot be shown.
func loadFailed(message string) *refusal {
	return &refusal{http.StatusBadRequest, "LoadReportFailed", message}
}

var (
	errEmbedExpired = &refusal{http.StatusForbidden, "TokenExpired", "Access token has expired, resubmit with a new access token"}
	errNotYours     = &refusal{http.StatusForbidden, "PowerBINotAuthorizedException", "Get report failed: the token does not open this report"}
	errNotDrawn     = loadFailed("Nobody has defined what the report draws")
)

func (t *Tenant) mountReportPage(mux *http.ServeMux) {
	embeddedBy := t.cfg.EmbeddedBy
	if len(embeddedBy) == 0 {
		embeddedBy = reports.Loopback
	}
	reports.MountPage(mux, embeddedBy)
	handle := func(pattern string, h func(http.ResponseWriter, *http.Request, viewing)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("RequestId", uuid.NewString())
			noStore(w)
			v, refused := t.openReport(r)
			if refused != nil {
				powerBIError(w, refused.status, refused.code, refused.message)
				return
			}
			h(w, r, v)
		})
	}
	handle("GET "+reports.PagePath+"/explore/{report}", func(w http.ResponseWriter, _ *http.Request, v viewing) {
		writeJSON(w, http.StatusOK, v.of.drawn.Describe(v.of.id, v.of.name, v.model))
	})
	handle("POST "+reports.PagePath+"/explore/{report}/query", t.queryReport)
}

// openReport finds the report of the path and whose rows the request's token
// shows of it. Nothing else in the request says so.
func (t *Tenant) openReport(r *http.Request) (viewing, *refusal) {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if kind == "Bearer" {
		return t.openAsPerson(r)
	}
	of, ok := t.embeds.find(token)
	switch {
	case kind != "EmbedToken" || !ok:
		return viewing{}, errNotYours
	case t.now().After(of.expires):
		return viewing{}, errEmbedExpired
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	rep, ok := t.anyReport(r.PathValue("report"))
	if !ok || !of.reports[rep.id] {
		return viewing{}, errNotYours
	}
	as, ok := of.datasets[rep.dataset.id]
	if !ok {
		return viewing{}, loadFailed("The token is not for the dataset of the report, " + rep.dataset.id)
	}
	if rep.drawn == nil {
		return viewing{}, errNotDrawn
	}
	v := viewing{of: rep.report, dataset: rep.dataset, model: rep.dataset.model(), rows: rep.dataset.source()}
	if as == nil {
		if len(v.model.Roles) > 0 {
			return viewing{}, loadFailed("The dataset has got row-level security since the token was made: a new one needs an effective identity")
		}
		v.as = eval.Identity{Unrestricted: true}
		return v, nil
	}
	v.as = *as
	for _, role := range as.Roles {
		if !slices.ContainsFunc(v.model.Roles, func(r knowledge.Role) bool { return r.Name == role }) {
			return viewing{}, loadFailed("The dataset has no role that is named " + role)
		}
	}
	return v, nil
}

// openAsPerson opens a report by a person's own access token, which shows what
// they see at Power BI themselves.
func (t *Tenant) openAsPerson(r *http.Request) (viewing, *refusal) {
	c, state := t.bearer(r, PowerBIAudience)
	switch {
	case state == tokenExpired:
		return viewing{}, errEmbedExpired
	case state != tokenGood || c.person == nil || !c.may(readReports...):
		return viewing{}, errNotYours
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	rep, ok := t.anyReport(r.PathValue("report"))
	if !ok || !t.reads(c.person, rep) {
		return viewing{}, errNotYours
	}
	if rep.drawn == nil {
		return viewing{}, errNotDrawn
	}
	return viewing{
		of: rep.report, dataset: rep.dataset, model: rep.dataset.model(), rows: rep.dataset.source(), as: t.identityOf(c.person, rep.dataset),
	}, nil
}

// reads reports whether a person may open a report: by a role in its workspace, or
// by the audience of its app, and by a right on its dataset in either case.
func (t *Tenant) reads(p *person, rep located) bool {
	open := t.roleIn(rep.space, p) != ""
	if rep.app != nil {
		open = t.openTo(rep.app, p)
	}
	return open && t.rightsOn(p, rep.dataset).read
}

// anyReport finds a report, of a workspace or of an app.
func (t *Tenant) anyReport(id string) (located, bool) {
	if rep, ok := t.reportByID(id); ok {
		return rep, true
	}
	for a := range t.apps() {
		for _, rep := range a.reports {
			if strings.EqualFold(rep.id, id) {
				return located{rep, a.space}, true
			}
		}
	}
	return located{}, false
}

// queryReport answers the rows of the visuals of a page. One that cannot be
// computed carries its error, as it would not keep the others from being drawn.
func (t *Tenant) queryReport(w http.ResponseWriter, r *http.Request, v viewing) {
	var body struct {
		Page    string `json:"page"`
		Visuals []struct {
			Name    string           `json:"name"`
			Filters []reports.Filter `json:"filters"`
		} `json:"visuals"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&body); err != nil {
		powerBIError(w, http.StatusBadRequest, "InvalidRequest", "The body is no JSON of this operation")
		return
	}
	page := v.of.drawn.Page(body.Page)
	if page == nil || len(body.Visuals) > len(page.Visuals) {
		powerBIError(w, http.StatusBadRequest, "InvalidRequest", "The report has no such page with these visuals")
		return
	}
	engine, err := v.dataset.engine.get(v.model, v.rows, t.now)
	if err != nil {
		t.log.Error("loading the rows of a sample dataset", "dataset", v.dataset.name, "error", err)
		powerBIError(w, http.StatusInternalServerError, "InternalServerError", "An internal error occurred.")
		return
	}
	type drawn struct {
		Name string `json:"name"`
		*reports.Answer
		Error *object `json:"error,omitempty"`
	}
	answers := []drawn{}
	for _, ask := range body.Visuals {
		i := slices.IndexFunc(page.Visuals, func(v reports.Visual) bool { return v.ID == ask.Name })
		if i < 0 || len(ask.Filters) > filtersOnVisual {
			powerBIError(w, http.StatusBadRequest, "InvalidRequest", "The page has no visual "+ask.Name+", or it has too many filters")
			return
		}
		answer, err := page.Visuals[i].Ask(r.Context(), engine, v.model, v.as, ask.Filters)
		if r.Context().Err() != nil {
			return // nobody waits for the answer any more
		}
		d := drawn{Name: ask.Name, Answer: answer}
		if err != nil {
			d.Error = &object{"message": t.visualTrouble(err)}
		}
		answers = append(answers, d)
	}
	writeJSON(w, http.StatusOK, object{"visuals": answers})
}

// visualTrouble is what people are told of a visual that cannot be computed.
func (t *Tenant) visualTrouble(err error) string {
	if problem, ok := errors.AsType[*eval.Error](err); ok {
		return problem.Error()
	}
	if problem, ok := errors.AsType[*reports.FilterError](err); ok {
		return problem.Error()
	}
	if problem, ok := errors.AsType[*reports.UnknownColumn](err); ok {
		return problem.Error()
	}
	t.log.Error("drawing a visual of the sample tenant", "error", err)
	return "An internal error occurred."
}
