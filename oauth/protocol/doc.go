// Package protocol has what the OAuth and sign-in endpoints have in common: the
// deployment's addresses, strict reading of parameters, redirect addresses,
// errors and their writers, and the [Route] by which each package says what it
// serves. The meaning of a request is elsewhere (provider, signin).
package protocol
