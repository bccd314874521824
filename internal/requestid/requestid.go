// Package requestid carries the id of a request, which its log lines, its
// audit rows and its errors share.
package requestid

import (
	"context"
	"crypto/rand"
)

type key struct{}

// New returns a fresh id.
func New() string { return rand.Text() }

// NewContext returns a context that carries id.
func NewContext(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, key{}, id)
}

// FromContext returns the id that ctx carries, and "" outside of a request.
func FromContext(ctx context.Context) string {
	id, _ := ctx.Value(key{}).(string)
	return id
}
