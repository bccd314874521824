package passkey

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	webauthnprotocol "github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

const (
	maxTransports = 8
	maxTransport  = 32
)

// An item is a passkey as its owner sees it.
type item struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Synced     bool       `json:"synced"` // whether it is on more than one device
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
}

func itemOf(p store.Passkey) item {
	return item{ID: p.ID, Name: p.Name, Synced: p.BackedUp, CreatedAt: p.CreatedAt, LastUsedAt: p.LastUsedAt}
}

func (h *Handlers) list(w http.ResponseWriter, r *http.Request, p *policies.Principal) {
	passkeys, err := h.Store.Passkeys(r.Context(), p.ID)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	items := make([]item, len(passkeys))
	for i, k := range passkeys {
		items[i] = itemOf(k)
	}
	protocol.WriteJSON(w, http.StatusOK, map[string][]item{"items": items})
}

// registerOptions begins a registration, which the session alone may finish. An
// authenticator that holds a passkey of the person makes no second one.
func (h *Handlers) registerOptions(w http.ResponseWriter, r *http.Request, p *policies.Principal) {
	passkeys, err := h.Store.Passkeys(r.Context(), p.ID)
	if err == nil && len(passkeys) >= store.MaxPasskeys {
		err = store.ErrManyPasskeys
	}
	var owner *user
	if err == nil {
		owner, err = newUser(p.ID, p.Email, p.Name, passkeys...)
	}
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	options, begun, err := h.relyingParty.BeginRegistration(owner,
		webauthn.WithExclusions(webauthn.Credentials(owner.WebAuthnCredentials()).CredentialDescriptors()))
	if err == nil {
		err = h.keep(r, store.PurposeRegister, p.Credential, begun)
	}
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	protocol.WriteJSON(w, http.StatusOK, options)
}

func (h *Handlers) register(w http.ResponseWriter, r *http.Request, p *policies.Principal) {
	added, err := h.attestation(w, r, p)
	if err == nil {
		added.ID, err = h.Store.AddPasskey(r.Context(), p, added)
	}
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	protocol.WriteJSON(w, http.StatusCreated, itemOf(added))
}

// attestation reads the passkey that the browser's authenticator made, and
// verifies it. Which make of authenticator it is, nobody asks.
func (h *Handlers) attestation(w http.ResponseWriter, r *http.Request, p *policies.Principal) (added store.Passkey, err error) {
	sent, err := body(w, r)
	if err != nil {
		return added, err
	}
	var in struct {
		Name       string          `json:"name"`
		Credential json.RawMessage `json:"credential"`
	}
	decoder := json.NewDecoder(bytes.NewReader(sent))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil || decoder.More() {
		return added, errMalformed
	}
	name := strings.TrimSpace(in.Name)
	if name == "" || utf8.RuneCountInString(name) > 60 || strings.ContainsFunc(name, unicode.IsControl) {
		return added, errName
	}
	said, err := webauthnprotocol.ParseCredentialCreationResponseBytes(in.Credential)
	if err != nil {
		return added, errMalformed
	}
	begun, err := h.take(r, store.PurposeRegister, p.Credential, said.Response.CollectedClientData)
	if err != nil {
		return added, err
	}
	owner, err := newUser(p.ID, p.Email, p.Name)
	if err != nil {
		return added, err
	}
	verified, err := h.relyingParty.CreateCredential(owner, begun, said)
	if err != nil {
		return added, unproven(err)
	}
	added = store.Passkey{
		PersonID: p.ID, CredentialID: verified.ID, PublicKey: verified.PublicKey, SignCount: verified.Authenticator.SignCount,
		BackupEligible: verified.Flags.BackupEligible, BackedUp: verified.Flags.BackupState, Name: name, CreatedAt: h.Now(),
	}
	for _, t := range verified.Transport {
		if len(added.Transports) < maxTransports && len(t) <= maxTransport { // not signed, and only a hint
			added.Transports = append(added.Transports, string(t))
		}
	}
	return added, nil
}

// remove removes a passkey of the person's own. Another's is as unknown as none.
func (h *Handlers) remove(w http.ResponseWriter, r *http.Request, p *policies.Principal) {
	query, err := protocol.SingleQuery(r.URL.RawQuery, "id")
	if err != nil {
		protocol.WriteProblem(w, http.StatusBadRequest, `The address must have one "id", as the list gives it.`)
		return
	}
	id, err := uuid.Parse(query.Get("id"))
	if err == nil {
		err = h.Store.RemovePasskey(r.Context(), p, id.String())
	} else {
		err = postgres.ErrNotFound
	}
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		protocol.WriteProblem(w, http.StatusNotFound, "You have no such passkey.")
	case err != nil:
		h.refuse(w, r, err)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
