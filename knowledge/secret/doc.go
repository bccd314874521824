// Package secret keeps the credentials that a deployment is given: the list of
// their names with who reads each, and the store that seals a value for exactly
// these readers. A value goes in and comes out only where its reader opens it to
// use it; what people see of one is [Info]. Identities and sealing itself are
// package vault's.
package secret
