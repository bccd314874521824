// Package signin is how a person gets a session: through Microsoft, or, in
// development on the sample tenant, through the dev sign-in. It also answers
// which ways there are.
//
// A sign-in through Microsoft goes like this:
//
//	GET /api/auth/sign-in/microsoft?next=/…   keeps a state, sends the browser to Entra
//	GET /api/auth/callback/microsoft          takes the state, redeems the code, verifies the
//	                                          ID token, makes the session, sends the browser on
//
// Who is admitted is decided in the transaction that would write the person
// (store.SignIn). No token of the provider is kept.
package signin
