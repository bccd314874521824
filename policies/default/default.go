// Package defaults embeds the shipped policies, at Cerbos' root scope, without
// their tests. A deployment's own policies have the scope "deployment" and lie
// over these.
package defaults

import "embed"

// Files has the policies, each in one file at its root.
//
//go:embed *.yaml
var Files embed.FS
