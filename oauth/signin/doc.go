// Package signin is how a person gets a session: through a [Provider], or, in
// development on the sample tenant, through the dev sign-in. It also answers
// which ways there are.
//
// A sign-in through a provider goes like this, KIND being microsoft, google or
// oidc:
//
//	GET /api/auth/sign-in/KIND?next=/…&provider=…   keeps a state, sends the browser to the provider
//	GET /api/auth/callback/KIND                     takes the state, redeems the code, verifies the
//	                                                ID token, makes the session, sends the browser on
//
// The flow is the same for every provider; what their ID tokens say, and which
// email and domain count, is each kind's own (microsoft.go, google.go, oidc.go).
//
// Who is admitted is decided in the transaction that would write the person
// (store.SignIn). No token of the provider is kept.
//
// An admin who adds a provider first goes through it once: a trial ([Trials])
// takes the same way and ends at the same callback, but signs nobody in.
package signin
