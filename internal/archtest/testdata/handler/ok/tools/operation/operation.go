package operation

type Operation[In, Out any] struct {
	Name   string
	Handle func(In) (Out, error)
}

type Def struct{ handle func(any) (any, error) }

func (o Operation[In, Out]) Def() *Def {
	d := &Def{}
	d.handle = func(in any) (any, error) { return o.Handle(in.(In)) }
	return d
}

type Guard struct{}

func (g *Guard) run(d *Def, in any) (any, error) { return d.handle(in) }

func (g *Guard) Call(d *Def, in any) (any, error) { return g.run(d, in) }
