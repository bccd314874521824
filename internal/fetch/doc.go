// Package fetch is the only door through which HTTP requests leave the api and
// the worker. [NewFixed] makes clients for the hosts that the operator
// configured, [NewUntrusted] clients for addresses that somebody else chose, and
// [NewIssuer] such clients for one sign-in provider.
//
// All checks are made in the client's transport, because some libraries take
// only that from the client they are given.
package fetch
