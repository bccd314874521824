package eval

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// statisticFunctions look at all values at once.
func statisticFunctions() map[string]function {
	all := map[string]function{
		"rank.eq": scalarFunction(2, 3, (*compiler).rankEqual),
		"sample":  tableFunction(2, -1, (*compiler).sample),
	}
	deviation := func(sample, root bool) func([]float64) (float64, bool) {
		return func(v []float64) (float64, bool) { return variance(v, sample, root) }
	}
	for name, f := range map[string]func([]float64) (float64, bool){
		"median":  func(v []float64) (float64, bool) { return percentile(v, 0.5, true) },
		"stdev.p": deviation(false, true), "stdev.s": deviation(true, true),
		"var.p": deviation(false, false), "var.s": deviation(true, false),
		"geomean": geometricMean,
	} {
		all[name] = distribution(1, false, func(v, _ []float64) (float64, bool) { return f(v) })
		// STDEVX.P and VARX.S have the X before the dot.
		before, after, dotted := strings.Cut(name, ".")
		overRows := before + "x"
		if dotted {
			overRows += "." + after
		}
		all[overRows] = distribution(1, true, func(v, _ []float64) (float64, bool) { return f(v) })
	}
	for name, inclusive := range map[string]bool{"percentile": true, "percentilex": true} {
		x := strings.HasSuffix(name, "x")
		all[name+".inc"] = distribution(2, x, func(v, arg []float64) (float64, bool) { return percentile(v, arg[0], inclusive) })
		all[name+".exc"] = distribution(2, x, func(v, arg []float64) (float64, bool) { return percentile(v, arg[0], !inclusive) })
	}
	return all
}

// distribution is a function of the numbers of a column, or of an expression
// over a table where iterates is set, and of one more number where arity is 2.
func distribution(arity int, iterates bool, f func(v, arg []float64) (float64, bool)) function {
	extra := 0
	if iterates {
		extra = 1
	}
	return scalarFunction(arity+extra, arity+extra, func(c *compiler, s *scope, x *dax.Call) node {
		var numbers func(e *env) []float64
		blanks := iterates && strings.EqualFold(x.Func, "MEDIANX") // which alone takes a blank for 0
		whole := false                                             // the values are whole numbers
		if iterates {
			table, sc := c.tableOf(s, x.Args[0])
			of := c.scalarOf(s.row(sc), x.Args[1])
			numbers = func(e *env) (v []float64) {
				e.each(table(e), func(int) {
					if w := of(e); w.IsNumber() || blanks && w.IsBlank() {
						v = append(v, w.Float())
					}
				})
				return v
			}
		} else {
			col := c.columnOf(s, x.Args[0])
			whole = col.data.Kind == value.Int && strings.EqualFold(x.Func, "MEDIAN")
			numbers = func(e *env) (v []float64) {
				requireNumbers(strings.ToUpper(x.Func), col)
				for _, row := range e.filter.rows(e.q, col.table).List() {
					if w := col.data.At(row); w.IsNumber() {
						v = append(v, w.Float())
					}
				}
				return v
			}
		}
		args := make([]scalar, 0, 1)
		for _, arg := range x.Args[1+extra:] {
			args = append(args, c.scalarOf(s, arg))
		}
		return node{scalar: func(e *env) value.Value {
			v := numbers(e)
			if len(v) == 0 {
				return value.Value{}
			}
			arg := make([]float64, len(args))
			for i, a := range args {
				arg[i] = must(value.Number(a(e))).Float()
			}
			r, ok := f(v, arg)
			if !ok {
				fail(Evaluation, "An argument of function '%s' has the wrong data type or the result is too large or too small.", strings.ToUpper(x.Func))
			}
			if whole && r == math.Trunc(r) && len(v)%2 == 1 {
				return value.OfInt(int64(r)) // one of the values
			}
			return value.OfDouble(r)
		}}
	})
}

// rankEqual is RANK.EQ ( value, column, order ): blank for a value that the
// column does not have.
func (c *compiler) rankEqual(s *scope, x *dax.Call) node {
	of, col := c.scalarOf(s, x.Args[0]), c.columnOf(s, x.Args[1])
	descending := true
	if len(x.Args) > 2 && x.Args[2] != nil {
		d, ok := direction(c.word(x.Args[2]), x.Args[2])
		if !ok {
			c.fail(x.Args[2], Invalid, "The order of RANK.EQ must be ASC or DESC.")
		}
		descending = d
	}
	return node{scalar: func(e *env) value.Value {
		v := of(e)
		if v.IsBlank() {
			return v
		}
		rank, found := int64(1), false
		for _, row := range e.filter.rows(e.q, col.table).List() {
			w := col.data.At(row)
			if w.IsBlank() {
				continue
			}
			switch o := must(value.Compare(w, v)); {
			case o == 0:
				found = true
			case o > 0 == descending:
				rank++
			}
		}
		if !found {
			return value.Value{}
		}
		return value.OfInt(rank)
	}}
}

// sample is SAMPLE ( n, table, order… ): in an order the first row, the last one
// and those at equal distances between, else any.
func (c *compiler) sample(s *scope, x *dax.Call) node {
	count := c.scalarOf(s, x.Args[0])
	table, sc := c.tableOf(s, x.Args[1])
	keys := c.sortKeys(s.row(sc), x.Args[2:], true)
	return node{schema: sc, table: func(e *env) *relation {
		rel := table(e)
		n := min(max(0, arguments{count(e)}.rounded(0)), rel.n)
		if len(keys) == 0 {
			return rel.pick(rand.Perm(rel.n)[:n])
		}
		places, _ := e.ordered(rel, keys)
		chosen := make([]int, n)
		for i := range chosen {
			at := 0
			if n > 1 {
				at = i * (len(places) - 1) / (n - 1)
			}
			chosen[i] = places[at]
		}
		return rel.pick(chosen)
	}}
}

func variance(v []float64, sample, root bool) (float64, bool) {
	n := float64(len(v))
	if sample {
		n--
	}
	if n == 0 {
		return 0, false
	}
	mean := 0.0
	for _, f := range v {
		mean += f / float64(len(v))
	}
	total := 0.0
	for _, f := range v {
		total += (f - mean) * (f - mean)
	}
	if root {
		return math.Sqrt(total / n), true
	}
	return total / n, true
}

func geometricMean(v []float64) (float64, bool) {
	total := 0.0
	for _, f := range v {
		if f <= 0 {
			return 0, false
		}
		total += math.Log(f)
	}
	return math.Exp(total / float64(len(v))), true
}

// percentile interpolates between the two values beside the place.
func percentile(v []float64, k float64, inclusive bool) (float64, bool) {
	v = slices.Clone(v)
	slices.Sort(v)
	n := float64(len(v))
	if k < 0 || k > 1 {
		return 0, false
	}
	place := k * (n - 1)
	if !inclusive {
		place = k*(n+1) - 1
		if place < 0 || place > n-1 {
			return 0, false
		}
	}
	low := math.Floor(place)
	high := math.Ceil(place)
	return v[int(low)] + (place-low)*(v[int(high)]-v[int(low)]), true
}
