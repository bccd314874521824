// Package operation declares.
package operation

type Def struct{}
