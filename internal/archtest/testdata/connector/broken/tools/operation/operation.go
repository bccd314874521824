// Package operation declares.
package operation

type Surface int

const (
	Connector Surface = 1 << iota
	API
)

type Operation struct {
	Surfaces Surface
	Handle   func()
}
