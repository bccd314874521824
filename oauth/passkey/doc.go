// Package passkey lets people sign in with a passkey, and keep their own. What
// makes a signature good is the WebAuthn library's to say; who is admitted is
// decided where every session is made (store.SignInByPasskey).
//
// Signing in, which needs no session and names nobody beforehand:
//
//	POST /api/auth/sign-in/passkey/options   keeps a ceremony, gives the browser its challenge
//	POST /api/auth/sign-in/passkey           takes the ceremony, verifies what was signed, makes the session
//
// A person's own passkeys, which need a session and no role:
//
//	GET    /api/auth/passkeys                lists them
//	POST   /api/auth/passkeys/options        keeps a ceremony, as above
//	POST   /api/auth/passkeys                takes the ceremony, verifies the new key, keeps it
//	DELETE /api/auth/passkeys?id=…           removes one
//
// A ceremony is good once, for five minutes, and for the one browser or session
// that began it. User verification is demanded in the configuration of the
// library, which copies the demand into each ceremony and holds the signed
// flags of this very answer against it (SIGNIN-28, SIGNIN-29). The flags that
// it returns afterwards are those of the passkey's life: nothing here looks at
// them to decide.
package passkey
