package device

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/policies"
)

// How often one address may look a code up, allow one and deny one, each.
const (
	tries     = 5
	tryWindow = 10 * time.Minute
)

// noSuchCode answers whatever is wrong with a code, and says so: who guesses
// learns nothing of which codes there are or were (OAUTH-60).
const noSuchCode = "This code cannot be answered: it is mistyped, expired or answered already. Start again from the program that showed it."

// What the command line will be able to do, and what it will not.
var (
	can = []string{
		"Do everything that you can do here, as you, with the roles that you have: read, query, change and administer.",
		"Run queries on datasets with your own rights in Power BI.",
		"Stay signed in for up to 30 days after its last use, until you end it.",
	}
	cannot = []string{
		"See your Microsoft password or your tokens.",
		"Let other programs in.",
	}
)

type screen struct {
	Person      person    `json:"person"`
	ClientID    string    `json:"client_id"`
	StartedAt   time.Time `json:"started_at"`
	StartedFrom string    `json:"started_from"`
	ExpiresAt   time.Time `json:"expires_at"`
	Can         []string  `json:"can"`
	Cannot      []string  `json:"cannot"`
}

type person struct {
	Email string `json:"email"`
	Name  string `json:"name"`
}

func (h *Handler) show(w http.ResponseWriter, r *http.Request) {
	p := h.person(w, r)
	if p == nil {
		return
	}
	values, err := protocol.SingleQuery(r.URL.RawQuery, "user_code")
	if err != nil || !values.Has("user_code") {
		protocol.WriteProblem(w, http.StatusBadRequest, `The query must have the code, once, as "user_code".`)
		return
	}
	d, err := h.Store.OpenDevice(r.Context(), h.codes.digest(values.Get("user_code")), h.Now())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	protocol.WriteJSON(w, http.StatusOK, screen{
		Person: person{Email: p.Email, Name: p.Name}, ClientID: d.ClientID,
		StartedAt: d.StartedAt.UTC(), StartedFrom: d.StartedFrom, ExpiresAt: d.ExpiresAt.UTC(), Can: can, Cannot: cannot,
	})
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) {
	p := h.person(w, r)
	if p == nil {
		return
	}
	var answer struct {
		UserCode string `json:"user_code"`
		Allow    *bool  `json:"allow"`
	}
	if err := protocol.ReadJSON(w, r, &answer); err != nil || answer.Allow == nil {
		protocol.WriteProblem(w, http.StatusBadRequest, `The body must be JSON with the fields "user_code" and "allow".`)
		return
	}
	if !h.mayTry(w, r, *answer.Allow) {
		return
	}
	if err := h.Store.AnswerDevice(r.Context(), p, h.codes.digest(answer.UserCode), *answer.Allow, h.Now()); err != nil {
		h.fail(w, r, err)
		return
	}
	h.Log.InfoContext(r.Context(), "device answered", "person", p.ID, "allow", *answer.Allow)
	protocol.WriteJSON(w, http.StatusOK, map[string]bool{"allowed": *answer.Allow})
}

// person returns who is at the screen, or answers and returns nil.
func (h *Handler) person(w http.ResponseWriter, r *http.Request) *policies.Principal {
	p, refusal := authn.Person(r, h.Sessions)
	if refusal == nil {
		return p
	}
	if refusal.Cause != nil {
		unexpected.Log(r.Context(), h.Log, "the device screen", refusal.Cause)
	}
	protocol.WriteProblem(w, refusal.Status, refusal.Detail)
	return nil
}

// mayTry counts an answer against the address of the person's browser.
func (h *Handler) mayTry(w http.ResponseWriter, r *http.Request, allow bool) bool {
	rule := "device_deny"
	if allow {
		rule = "device_allow"
	}
	ok, retry, err := h.Limits.Count(r.Context(), rule, h.Address(r.Context()), tries, tryWindow)
	if err != nil {
		h.fail(w, r, err)
		return false
	}
	if !ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(retry.Seconds())+1))
		protocol.WriteProblem(w, http.StatusTooManyRequests, "Too many codes were answered from this address. Try again in a while.")
	}
	return ok
}

func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, postgres.ErrNotFound) {
		protocol.WriteProblem(w, http.StatusNotFound, noSuchCode)
		return
	}
	unexpected.Log(r.Context(), h.Log, "the device screen", err)
	protocol.WriteProblem(w, http.StatusServiceUnavailable, "The server cannot answer at the moment. Try again.")
}
