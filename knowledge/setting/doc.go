// Package setting has every setting that an admin changes while the product runs:
// its key, type, default, limits and sentence of documentation, all said once by a
// field of [Values], and the table that keeps those which were changed.
//
// A setting holds what was saved for it or, while nothing was, what the environment
// gives or, without that, its default. Whoever needs one reads it at the request
// that needs it, all of them in one statement, so that a change counts from the next
// request on in every process. Addresses that secrets travel to are no settings: the
// operator alone gives them, in the environment (package server/config).
package setting
