package passkey

import (
	"crypto/rand"
	"errors"
	"net/http"

	webauthnprotocol "github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/store"
)

// signInOptions begins a sign-in. It asks for any passkey of this site, so that
// the answer is the same for everybody and names nobody.
func (h *Handlers) signInOptions(w http.ResponseWriter, r *http.Request) {
	options, begun, err := h.relyingParty.BeginDiscoverableLogin()
	if err == nil {
		err = h.keep(r, store.PurposeSignIn, bind(w, r), begun)
	}
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	protocol.WriteJSON(w, http.StatusOK, options)
}

func (h *Handlers) signIn(w http.ResponseWriter, r *http.Request) {
	use, err := h.assertion(w, r)
	secret, now := rand.Text()+rand.Text(), h.Now()
	s := store.NewSession{Digest: store.Digest(secret), Provider: store.ByPasskey, At: now, ExpiresAt: now.Add(session.Life)}
	if err == nil {
		_, err = h.Store.SignInByPasskey(r.Context(), use, s, store.SignInOptions{
			RefuseDevAccounts: !h.DevSignIn, Address: h.address(r),
		})
	}
	if errors.Is(err, postgres.ErrNotFound) {
		err = errUnproven // removed in the meantime
	}
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	session.SetCookie(w, secret, s.ExpiresAt)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// assertion reads what the browser's authenticator signed and verifies it.
func (h *Handlers) assertion(w http.ResponseWriter, r *http.Request) (use store.PasskeyUse, err error) {
	sent, err := body(w, r)
	if err != nil {
		return use, err
	}
	said, err := webauthnprotocol.ParseCredentialRequestResponseBytes(sent)
	if err != nil {
		return use, errMalformed
	}
	begun, err := h.take(r, store.PurposeSignIn, bound(r), said.Response.CollectedClientData)
	if err != nil {
		return use, err
	}
	p, err := h.Store.Passkey(r.Context(), said.RawID)
	if errors.Is(err, postgres.ErrNotFound) {
		return use, errUnproven
	} else if err != nil {
		return use, err
	}
	owner, err := newUser(p.PersonID, "", "", *p)
	if err != nil {
		return use, err
	}
	// The library compares the owner's id with the one that the authenticator
	// gave, and refuses where it gave none.
	_, verified, err := h.relyingParty.ValidatePasskeyLogin(func(_, _ []byte) (webauthn.User, error) { return owner, nil }, begun, said)
	if err != nil {
		return use, unproven(err)
	}
	return store.PasskeyUse{
		PersonID: p.PersonID, CredentialID: p.CredentialID,
		// The library keeps the old count where the new one is not above it, and
		// leaves a warning: the store compares what was signed.
		SignCount: said.Response.AuthenticatorData.Counter, BackedUp: verified.Flags.BackupState,
	}, nil
}
