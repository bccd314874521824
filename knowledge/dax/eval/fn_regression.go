package eval

import (
	"math"
	"strconv"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
	"gonum.org/v1/gonum/mat"
)

// regressionFunctions fit a line through many points.
func regressionFunctions() map[string]function {
	return map[string]function{
		"linest":  tableFunction(2, -1, (*compiler).linest),
		"linestx": tableFunction(3, -1, (*compiler).linestX),
	}
}

// linest is LINEST ( y, x, …, constant ) over columns of one table.
func (c *compiler) linest(s *scope, x *dax.Call) node {
	args, constant := c.withConstant(s, x.Args)
	if len(args) < 2 {
		c.fail(x, Invalid, "LINEST expects the column of y and at least one column of x.")
	}
	var cols []*modelColumn
	for _, arg := range args {
		col := c.columnOf(s, arg)
		if col.table != c.columnOf(s, args[0]).table {
			c.fail(arg, Invalid, "All columns of LINEST must belong to one table.")
		}
		cols = append(cols, col)
	}
	return lineNode(len(cols)-1, constant, func(e *env, add func([]value.Value)) {
		point := make([]value.Value, len(cols))
		for _, row := range e.filter.rows(e.q, cols[0].table).List() {
			for i, col := range cols {
				point[i] = col.data.At(row)
			}
			add(point)
		}
	})
}

// linestX is LINESTX ( table, y, x, …, constant ).
func (c *compiler) linestX(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	args, constant := c.withConstant(s, x.Args[1:])
	if len(args) < 2 {
		c.fail(x, Invalid, "LINESTX expects a table, an expression for y and at least one for x.")
	}
	inner := s.row(sc)
	var of []scalar
	for _, arg := range args {
		of = append(of, c.scalarOf(inner, arg))
	}
	return lineNode(len(of)-1, constant, func(e *env, add func([]value.Value)) {
		point := make([]value.Value, len(of))
		e.each(table(e), func(int) {
			for i, f := range of {
				point[i] = f(e)
			}
			add(point)
		})
	})
}

// withConstant takes off a last argument that is TRUE or FALSE: whether the line
// may cross the axis elsewhere than at zero.
func (c *compiler) withConstant(s *scope, args []dax.Expr) ([]dax.Expr, scalar) {
	last := args[len(args)-1]
	is := false
	switch last := last.(type) {
	case *dax.Bool:
		is = true
	case *dax.Call:
		word := knowledge.Fold(last.Func)
		is = word == "true" || word == "false"
	}
	if !is {
		return args, constant(value.True).scalar
	}
	return args[:len(args)-1], c.scalarOf(s, last)
}

// maxLineValues bounds the numbers of a regression.
const maxLineValues = 1 << 24

// lineNode is the row of figures that describes the line through the points, each
// of them y and its x. Points that have a blank are left out.
func lineNode(slopes int, constant scalar, points func(e *env, add func([]value.Value))) node {
	sc := &schema{}
	name := func(names ...string) {
		for _, n := range names {
			sc.cols = append(sc.cols, colMeta{name: n})
		}
	}
	for _, prefix := range []string{"Slope", "StandardErrorSlope"} {
		for i := range slopes {
			name(prefix + strconv.Itoa(i+1))
		}
		if prefix == "Slope" {
			name("Intercept")
		}
	}
	name("StandardErrorIntercept", "CoefficientOfDetermination", "StandardError", "FStatistic", "DegreesOfFreedom",
		"RegressionSumOfSquares", "ResidualSumOfSquares")
	return node{schema: sc, table: func(e *env) *relation {
		var xs, ys []float64
		points(e, func(point []value.Value) {
			for _, v := range point {
				if v.IsBlank() {
					return
				}
			}
			if len(xs) > maxLineValues {
				fail(Evaluation, "There are too many points for a regression.")
			}
			numbers := make([]float64, len(point))
			for i := range point {
				numbers[i] = arguments(point).number(i)
			}
			ys, xs = append(ys, numbers[0]), append(xs, numbers[1:]...)
		})
		rel := newRelation(sc)
		row := make([]value.Value, 0, len(sc.cols))
		for _, f := range fitLine(ys, xs, slopes, must(value.Truth(constant(e)))) {
			if math.IsNaN(f) || math.IsInf(f, 0) {
				row = append(row, value.Value{})
				continue
			}
			row = append(row, value.OfDouble(f))
		}
		rel.addRow(row...)
		return rel
	}}
}

// fitLine is the line of least squares: slopes, intercept, their standard errors,
// and what else [lineNode] names.
func fitLine(ys, xs []float64, slopes int, constant bool) []float64 {
	n, width := len(ys), slopes
	if constant {
		width++
	}
	if n < width || n == 0 {
		fail(Evaluation, "There are %d points; a line with %d coefficients needs as many at least.", n, width)
	}
	a := mat.NewDense(n, width, nil)
	for i := range n {
		for k := range slopes {
			a.Set(i, k, xs[i*slopes+k])
		}
		if constant {
			a.Set(i, slopes, 1)
		}
	}
	var qr mat.QR
	qr.Factorize(a)
	var coefficients mat.VecDense
	var r, inverse mat.Dense
	qr.RTo(&r)
	if qr.SolveVecTo(&coefficients, false, mat.NewVecDense(n, ys)) != nil || inverse.Inverse(r.Slice(0, width, 0, width)) != nil {
		fail(Evaluation, "The values of x depend on each other, so that no single line fits best.")
	}
	mean := 0.0
	if constant {
		for _, y := range ys {
			mean += y / float64(n)
		}
	}
	residual, total := 0.0, 0.0
	for i, y := range ys {
		fitted := mat.Dot(a.RowView(i), &coefficients)
		residual += (y - fitted) * (y - fitted)
		total += (y - mean) * (y - mean)
	}
	freedom := float64(n - width)
	deviation := math.Sqrt(residual / freedom)
	beta, errors := make([]float64, slopes+1), make([]float64, slopes+1)
	errors[slopes] = math.NaN()
	for k := range width {
		beta[k] = coefficients.AtVec(k)
		errors[k] = deviation * mat.Norm(inverse.RowView(k), 2)
	}
	f := (total - residual) / float64(slopes) / (residual / freedom)
	return append(append(beta, errors...), 1-residual/total, deviation, f, freedom, total-residual, residual)
}
