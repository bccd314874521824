// Package provider is the authorization server behind its endpoints: what an
// authorization request must look like, what an Allow makes, and what a code or
// a refresh token buys. The endpoints themselves are in authorize, consent
// and token.
//
// The grant types are those of ory/fosite at one pinned commit. What surrounds
// them is ours, because the stock behaviour is not what we promise: how
// parameters are read, which redirect and which resource are meant, how tokens
// look, when a credential counts as used, and every error's words.
//
// Everything that was ever issued hangs on one row of oauth_grant, and is worth
// nothing once that row is revoked. A credential that works once is spent under
// that row's lock; presenting it again, or losing the race for it, revokes the
// grant, so that neither a thief nor a victim goes on with a copy.
package provider
