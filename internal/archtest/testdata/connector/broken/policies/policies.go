// Package policies is on the list.
package policies

type Hook struct{ After func() }

func (h Hook) Run() { h.After() }

type Later struct{ next func() }

func NewLater(next func()) Later { return Later{next: next} }

func (l Later) Run() { l.next() }
