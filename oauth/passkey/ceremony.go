package passkey

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	webauthnprotocol "github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store"
)

const (
	// bindingCookie ties a sign-in under way to the browser that started it.
	bindingCookie = "__Host-pbmb-passkey"

	ceremonyLife = 5 * time.Minute

	maxBody = 64 << 10 // an attestation with certificates is a few KiB
)

var (
	// errExpired is returned for a ceremony that is unknown, over, spent or
	// another browser's.
	errExpired = errors.New("there is no such ceremony under way")

	// errMalformed is returned for a body that is not what a browser sends.
	errMalformed = errors.New("the body is malformed")

	// errUnproven is returned for an answer that does not prove what it should,
	// and for a passkey that nobody has.
	errUnproven = errors.New("the answer proves nothing")

	// errName is returned for a name that cannot be kept.
	errName = errors.New("the name is empty or too long")
)

// keep keeps a ceremony that began, for whoever has both its challenge and the
// binding.
func (h *Handlers) keep(r *http.Request, purpose, binding string, begun *webauthn.SessionData) error {
	state, err := json.Marshal(begun)
	if err != nil {
		return fmt.Errorf("writing a ceremony: %w", err)
	}
	now := h.Now()
	return h.Store.SavePasskeyCeremony(r.Context(), ceremonyDigest(begun.Challenge, binding), store.PasskeyCeremony{
		Purpose: purpose, State: state, ExpiresAt: now.Add(ceremonyLife),
	}, now)
}

// take ends a ceremony and gives what its answer is checked against. It is spent
// from here on, whatever becomes of the answer.
func (h *Handlers) take(r *http.Request, purpose, binding string, said webauthnprotocol.CollectedClientData) (begun webauthn.SessionData, err error) {
	c, err := h.Store.TakePasskeyCeremony(r.Context(), ceremonyDigest(said.Challenge, binding), purpose, h.Now())
	if errors.Is(err, postgres.ErrNotFound) {
		return begun, errExpired
	} else if err != nil {
		return begun, err
	}
	if err := json.Unmarshal(c.State, &begun); err != nil {
		return begun, fmt.Errorf("reading a ceremony: %w", err)
	}
	return begun, nil
}

func ceremonyDigest(challenge, binding string) []byte { return store.Digest(challenge + "." + binding) }

// bind gives the browser's part of a ceremony's key, the same for all tabs.
func bind(w http.ResponseWriter, r *http.Request) string {
	value := rand.Text() + rand.Text()
	if has := bound(r); len(has) == len(value) {
		value = has
	}
	http.SetCookie(w, &http.Cookie{
		Name: bindingCookie, Value: value, Path: "/", MaxAge: int(ceremonyLife.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	return value
}

func bound(r *http.Request) string {
	c, err := r.Cookie(bindingCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// body reads the JSON of a request.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/json" {
		return nil, errMalformed
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, errMalformed
	}
	return b, nil
}

// unproven is errUnproven with what the library says of it, for the log. Its
// further details repeat what was sent.
func unproven(err error) error {
	if e, ok := errors.AsType[*webauthnprotocol.Error](err); ok {
		return fmt.Errorf("%w: %s", errUnproven, e.Details)
	}
	return fmt.Errorf("%w: %w", errUnproven, err)
}

// A user is a person as the library knows them.
type user struct {
	id       uuid.UUID // what an authenticator keeps of them: no name, no email
	name     string
	label    string
	passkeys []store.Passkey
}

var _ webauthn.User = (*user)(nil)

func newUser(personID, email, name string, passkeys ...store.Passkey) (*user, error) {
	id, err := uuid.Parse(personID)
	if err != nil {
		return nil, fmt.Errorf("a person's id: %w", err)
	}
	if name == "" {
		name = email
	}
	return &user{id: id, name: email, label: name, passkeys: passkeys}, nil
}

func (u *user) WebAuthnID() []byte          { return u.id[:] }
func (u *user) WebAuthnName() string        { return u.name }
func (u *user) WebAuthnDisplayName() string { return u.label }

func (u *user) WebAuthnCredentials() []webauthn.Credential {
	credentials := make([]webauthn.Credential, len(u.passkeys))
	for i, p := range u.passkeys {
		credentials[i] = webauthn.Credential{
			ID: p.CredentialID, PublicKey: p.PublicKey,
			Flags:         webauthn.CredentialFlags{BackupEligible: p.BackupEligible, BackupState: p.BackedUp},
			Authenticator: webauthn.Authenticator{SignCount: p.SignCount},
		}
		for _, t := range p.Transports {
			credentials[i].Transport = append(credentials[i].Transport, webauthnprotocol.AuthenticatorTransport(t))
		}
	}
	return credentials
}
