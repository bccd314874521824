// Package check asks Microsoft what the checks of knowledge/check want to know of
// the two app registrations: what each may do, and whether there is something to
// sync. It gives every answer one of the failures that are known there.
package check
