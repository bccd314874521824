package eval

import (
	"math"
	"strings"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// distributionFunctions are the probability distributions with their inverses,
// and what counts arrangements. A value outside of what a distribution knows is
// an error.
func distributionFunctions() map[string]function {
	all := map[string]function{}
	for name, f := range map[string]financial{
		"norm.dist": {4, 4, func(a arguments) float64 {
			return either(normal(a.number(1), a.number(2)), a.number(0), a.truth(3, false))
		}},
		"norm.inv":    {3, 3, func(a arguments) float64 { return inverse(normal(a.number(1), a.number(2)), a.number(0)) }},
		"norm.s.dist": {2, 2, func(a arguments) float64 { return either(distuv.UnitNormal, a.number(0), a.truth(1, false)) }},
		"norm.s.inv":  {1, 1, func(a arguments) float64 { return inverse(distuv.UnitNormal, a.number(0)) }},
		"confidence.norm": {3, 3, func(a arguments) float64 {
			return confidence(a, func(p float64) float64 { return distuv.UnitNormal.Quantile(p) })
		}},
		"confidence.t": {3, 3, func(a arguments) float64 {
			student := student(float64(a.rounded(2) - 1))
			return confidence(a, func(p float64) float64 { return student.Quantile(p) })
		}},
		"t.dist":    {3, 3, func(a arguments) float64 { return either(student(degrees(a, 1)), a.number(0), a.truth(2, false)) }},
		"t.dist.rt": {2, 2, func(a arguments) float64 { return student(degrees(a, 1)).CDF(-a.number(0)) }},
		"t.dist.2t": {2, 2, func(a arguments) float64 { return 2 * student(degrees(a, 1)).CDF(-notNegative(a.number(0))) }},
		"t.inv":     {2, 2, func(a arguments) float64 { return inverse(student(degrees(a, 1)), a.number(0)) }},
		"t.inv.2t": {2, 2, func(a arguments) float64 {
			p := a.number(0)
			if p == 1 {
				return 0
			}
			return -inverse(student(degrees(a, 1)), p/2)
		}},
		"chisq.dist": {3, 3, func(a arguments) float64 {
			return either(chiSquared(degrees(a, 1)), notNegative(a.number(0)), a.truth(2, false))
		}},
		"chisq.dist.rt": {2, 2, func(a arguments) float64 {
			return mathext.GammaIncRegComp(degrees(a, 1)/2, notNegative(a.number(0))/2)
		}},
		"chisq.inv": {2, 2, func(a arguments) float64 {
			if p := a.number(0); p >= 0 && p < 1 {
				return chiSquared(degrees(a, 1)).Quantile(p)
			}
			return math.NaN()
		}},
		"chisq.inv.rt": {2, 2, func(a arguments) float64 {
			if p := a.number(0); p > 0 && p <= 1 {
				return 2 * mathext.GammaIncRegCompInv(degrees(a, 1)/2, p)
			}
			return math.NaN()
		}},
		"beta.dist": {4, 6, betaDistribution},
		"beta.inv":  {3, 5, betaInverse},
		"expon.dist": {3, 3, func(a arguments) float64 {
			return either(distuv.Exponential{Rate: above(a.number(1))}, notNegative(a.number(0)), a.truth(2, false))
		}},
		"poisson.dist": {3, 3, func(a arguments) float64 {
			return either(distuv.Poisson{Lambda: notNegative(a.number(1))}, notNegative(float64(a.rounded(0))), a.truth(2, false))
		}},
		"permut": {2, 2, func(a arguments) float64 {
			n, k := math.Trunc(a.number(0)), math.Trunc(a.number(1))
			if n <= 0 || k < 0 || n < k {
				return math.NaN()
			}
			return products(k, func(i float64) float64 { return n - i })
		}},
		"combin": {2, 2, func(a arguments) float64 { return choices(math.Trunc(a.number(0)), math.Trunc(a.number(1))) }},
		"combina": {2, 2, func(a arguments) float64 {
			n, k := math.Trunc(a.number(0)), math.Trunc(a.number(1))
			if n < 0 || k < 0 || n == 0 && k > 0 {
				return math.NaN()
			}
			if k == 0 {
				return 1
			}
			return choices(n+k-1, k)
		}},
	} {
		all[name] = calculation(strings.ToUpper(name), f.min, f.max, f.compute)
	}
	return all
}

// A probability is a distribution of package distuv.
type probability interface {
	CDF(float64) float64
	Prob(float64) float64
}

// either is the cumulative probability up to x, or the density there.
func either(d probability, x float64, cumulative bool) float64 {
	if cumulative {
		return d.CDF(x)
	}
	return d.Prob(x)
}

// inverse is the value up to which the probability is p.
func inverse(d interface{ Quantile(float64) float64 }, p float64) float64 {
	if !(p > 0 && p < 1) {
		return math.NaN()
	}
	return d.Quantile(p)
}

func normal(mean, deviation float64) distuv.Normal {
	return distuv.Normal{Mu: mean, Sigma: above(deviation)}
}

func student(degrees float64) distuv.StudentsT {
	return distuv.StudentsT{Sigma: 1, Nu: above(degrees)}
}

func chiSquared(degrees float64) distuv.ChiSquared { return distuv.ChiSquared{K: degrees} }

// above and notNegative refuse what a distribution does not know, before package
// distuv panics or answers with nonsense.
func above(f float64) float64 {
	if !(f > 0 && f <= maxParameter) {
		fail(Evaluation, "The number %g must be greater than 0 here, and at most 10^10.", f)
	}
	return f
}

func notNegative(f float64) float64 {
	if !(f >= 0) {
		fail(Evaluation, "The number %g must not be negative here.", f)
	}
	return f
}

// maxParameter bounds the parameters of distributions, as the reference does for
// degrees of freedom.
const maxParameter = 1e10

// degrees are the degrees of freedom.
func degrees(a arguments, i int) float64 {
	d := math.Round(a.number(i))
	if !(d >= 1 && d <= maxParameter) {
		fail(Evaluation, "The degrees of freedom must be from 1 to 10^10.")
	}
	return d
}

// confidence is half the width of the interval that holds the mean with a
// probability of 1 - alpha.
func confidence(a arguments, quantile func(float64) float64) float64 {
	alpha, size := a.number(0), a.rounded(2)
	if !(alpha > 0 && alpha < 1) || size < 1 {
		return math.NaN()
	}
	return -quantile(alpha/2) * above(a.number(1)) / math.Sqrt(float64(size))
}

func betaDistribution(a arguments) float64 {
	low, high := a.numberOr(4, 0), a.numberOr(5, 1)
	x := a.number(0)
	if !(low < high && x >= low && x <= high) {
		return math.NaN()
	}
	d := distuv.Beta{Alpha: above(a.number(1)), Beta: above(a.number(2))}
	p := either(d, (x-low)/(high-low), a.truth(3, true))
	if !a.truth(3, true) {
		p /= high - low
	}
	return p
}

func betaInverse(a arguments) float64 {
	low, high := a.numberOr(3, 0), a.numberOr(4, 1)
	p := a.number(0)
	if !(low < high && p > 0 && p <= 1) {
		return math.NaN()
	}
	return low + (high-low)*mathext.InvRegIncBeta(above(a.number(1)), above(a.number(2)), p)
}

// choices is how many sets of k there are of n things.
func choices(n, k float64) float64 {
	if n < 0 || k < 0 || n < k {
		return math.NaN()
	}
	k = min(k, n-k)
	return math.Round(products(k, func(i float64) float64 { return (n - k + i + 1) / (i + 1) }))
}

// products multiplies what f gives for 0 to n-1, until the number is no longer
// one that can be written down.
func products(n float64, f func(float64) float64) float64 {
	p := 1.0
	for i := 0.0; i < n && !math.IsInf(p, 0); i++ {
		p *= f(i)
	}
	return p
}
