package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/pbmb/pbmb/internal/fetch"
)

// asymmetric are the algorithms by which an ID token may be signed: with none of
// them can who verifies also sign.
var asymmetric = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// verify checks an ID token of any provider in full, its signature included
// although it came over TLS from the token endpoint (SIGNIN-08). The keys are read
// for each token anew, so that one that was withdrawn counts no longer.
func (h *Handler) verify(ctx context.Context, p Provider, i issuer, client *http.Client, raw, nonce string) (*oidc.IDToken, error) {
	keys := &keySet{KeySet: oidc.NewRemoteKeySet(oidc.ClientContext(ctx, client), i.keys)}
	token, err := oidc.NewVerifier(p.Issuer, keys, &oidc.Config{
		ClientID: p.ClientID, SupportedSigningAlgs: asymmetric, Now: h.Now,
	}).Verify(ctx, raw)
	switch {
	case keys.unreachable != nil:
		return nil, fmt.Errorf("reading the keys of %s: %w", p.ID, keys.unreachable)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errUntrusted, err)
	case nonce == "" || token.Nonce != nonce:
		return nil, fmt.Errorf("%w: the nonce is another", errUntrusted)
	case len(token.Audience) != 1:
		return nil, fmt.Errorf("%w: the audience is not ours alone", errUntrusted)
	case token.Subject == "":
		return nil, fmt.Errorf("%w: the subject is missing", errUntrusted)
	}
	return token, nil
}

// A keySet keeps why keys could not be read, which the verifier's error leaves out.
type keySet struct {
	oidc.KeySet
	unreachable error
}

// VerifySignature is for the verifier.
func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, jwt)
	if _, is := errors.AsType[*fetch.UntrustedError](err); is {
		k.unreachable = err
	}
	return payload, err
}
