package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/pbmb/pbmb/internal/entraid"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
)

// Dev is the dev sign-in, which lets in whoever asks.
type Dev struct {
	// Known gives what the sample tenant knows of an email; may be nil.
	Known func(email string) (Known, bool)
}

// Known is a person of the sample tenant.
type Known struct {
	ObjectID string
	Name     string
	GroupIDs []string // nil where they are not known
}

// CheckDevShut returns an error where the dev sign-in is shut and left people
// behind: they could be somebody else's (SIGNIN-43). It says how to remove them.
func CheckDevShut(ctx context.Context, st interface {
	DevRows(ctx context.Context) ([]store.DevRow, error)
}) error {
	rows, err := st.DevRows(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	var message strings.Builder
	message.WriteString("the dev sign-in is shut, but the database holds people whom it let in:\n")
	for _, row := range rows {
		fmt.Fprintf(&message, "  %s: provider %s, %s, person %s\n", row.Table, row.Provider, row.Subject, row.PersonID)
	}
	message.WriteString("To go on, remove them:\n" +
		"  delete from account where scope = 'dev-sign-in';\n" +
		"  delete from person_sign_in where provider = 'dev';")
	return errors.New(message.String())
}

func (h *Handler) devSignIn(w http.ResponseWriter, r *http.Request) {
	in, err := h.devIdentity(w, r)
	var caller *store.Caller
	if err == nil {
		caller, err = h.startSession(w, r, in)
	}
	if refused, ok := errors.AsType[*devError](err); ok {
		protocol.WriteProblem(w, refused.status, refused.detail)
		return
	} else if errors.Is(err, store.ErrNoRole) {
		protocol.WriteProblem(w, http.StatusForbidden, "No role reaches this person.")
		return
	} else if err != nil {
		unexpected.Log(r.Context(), h.Log, "dev sign-in", err)
		protocol.WriteProblem(w, http.StatusServiceUnavailable, "The server cannot answer at the moment. Try again.")
		return
	}
	protocol.WriteJSON(w, http.StatusOK, map[string]string{
		"person_id": caller.PersonID, "email": caller.Email, "name": caller.Name,
	})
}

type devError struct {
	status int
	detail string
}

func (e *devError) Error() string { return e.detail }

// devIdentity reads who wants to be who. With an object id it is the account
// that a Microsoft sign-in would make; without, one of the dev sign-in's own.
// Nobody is ever found by email.
func (h *Handler) devIdentity(w http.ResponseWriter, r *http.Request) (store.SignIn, error) {
	var body struct {
		Email    string `json:"email"`
		ObjectID string `json:"oid"`
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && mediaType == "application/json" {
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&body)
	} else {
		err = errors.New("not JSON")
	}
	email, ok := entraid.Address(body.Email)
	if err != nil || !ok {
		return store.SignIn{}, &devError{http.StatusBadRequest, `The body must be JSON with an "email", and an "oid" where one is wanted.`}
	}
	in := store.SignIn{
		Provider: store.Dev, AccountID: strings.ToLower(email), Vouching: store.Dev, Scope: store.DevScope,
		Email: email, EmailVerified: true, VouchedDomain: domainOf(email),
	}
	if h.Dev.Known != nil {
		if known, ok := h.Dev.Known(email); ok {
			in.Name = known.Name
			if body.ObjectID == "" {
				body.ObjectID = known.ObjectID
			}
			if strings.EqualFold(body.ObjectID, known.ObjectID) {
				in.GroupIDs, in.GroupsRead = lowerAll(known.GroupIDs), known.GroupIDs != nil
			}
		}
	}
	if body.ObjectID == "" {
		return in, nil
	}
	objectID, err := uuid.Parse(body.ObjectID)
	if err != nil {
		return store.SignIn{}, &devError{http.StatusBadRequest, `The "oid" is not a uuid.`}
	}
	in.Provider, in.AccountID, in.ObjectID = store.Microsoft, objectID.String(), objectID.String()
	return in, h.checkDevAccount(r.Context(), in)
}

func (h *Handler) checkDevAccount(ctx context.Context, in store.SignIn) error {
	account, err := h.Store.Account(ctx, store.Microsoft, in.AccountID)
	if err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return err
	}
	if account != nil && !strings.EqualFold(account.Email, in.Email) {
		return &devError{http.StatusConflict, "The object id belongs to somebody else."}
	}
	others, err := h.Store.MicrosoftAccountsOf(ctx, in.Email)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other != in.AccountID {
			return &devError{http.StatusConflict, "This person has another Microsoft account."}
		}
	}
	return nil
}
