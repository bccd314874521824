// Package knowledge is what the product knows about semantic models and the
// book written over them: plain types, a file for each noun. How they are stored
// is in store, the language of their expressions in dax, who may see them in
// visibility, and what of them is personal data in pii.
package knowledge

import "errors"

// Errors that callers tell apart with [errors.Is].
var (
	// ErrNotFound is returned for what does not exist, for what the caller may
	// not see and for what is personal data that they may not read: one value,
	// so that the three cannot be told apart.
	ErrNotFound = errors.New("not found")

	// ErrSeveral is returned where a name means more than one thing.
	ErrSeveral = errors.New("more than one thing has this name")

	// ErrNotOne is returned where a name was to mean one thing and means none or
	// several of those that the caller can see.
	ErrNotOne = errors.New("none or several")

	// ErrConflict is returned when a write was based on a state that is gone.
	ErrConflict = errors.New("conflict")
)
