// Package entra is the client of Microsoft's identity service for one tenant:
// where a person is sent in order to sign in, the exchange of codes and refresh
// tokens, tokens of the application itself, and the check of ID tokens. Who may
// connect what, and where tokens are kept, is decided in oauth.
package entra
