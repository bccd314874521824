package eval

import (
	"math"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/finance"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// arguments are the values of a call, read as what its function wants.
type arguments []value.Value

func (a arguments) has(i int) bool { return i < len(a) && !a[i].IsBlank() }

func (a arguments) number(i int) float64 {
	f := must(value.Number(a[i])).Float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		fail(Evaluation, "The number %s cannot be computed with.", a[i])
	}
	return f
}

// numberOr is an argument that may be missing.
func (a arguments) numberOr(i int, missing float64) float64 {
	if !a.has(i) {
		return missing
	}
	return a.number(i)
}

// rounded is a whole number; others are rounded to one.
func (a arguments) rounded(i int) int {
	f := math.Round(a.number(i))
	if !(math.Abs(f) < 10_000_000) {
		fail(Evaluation, "The number %s is too large here.", a[i])
	}
	return int(f)
}

func (a arguments) roundedOr(i, missing int) int {
	if !a.has(i) {
		return missing
	}
	return a.rounded(i)
}

func (a arguments) truth(i int, missing bool) bool {
	if !a.has(i) {
		return missing
	}
	return must(value.Truth(a[i]))
}

// day is a date without its time.
func (a arguments) day(i int) time.Time {
	return value.SerialTime(math.Floor(value.Serial(clock(a[i]))))
}

func (a arguments) basis(i int) finance.Basis { return finance.Basis(a.roundedOr(i, 0)) }

// early says whether payments are due at the start of a period; ok whether the
// argument is 0 or 1.
func (a arguments) early(i int) bool {
	switch a.roundedOr(i, 0) {
	case 0:
		return false
	case 1:
		return true
	}
	fail(Evaluation, "The type of payment must be 0, at the end of each period, or 1, at the start.")
	return false
}

// annuity reads rate, periods, payment, present and future value, where the
// place is not negative, and when payments are due.
func (a arguments) annuity(rate, periods, payment, present, future, due int) finance.Annuity {
	at := func(i int) float64 {
		if i < 0 {
			return 0
		}
		return a.numberOr(i, 0)
	}
	return finance.Annuity{
		Rate: at(rate), Periods: at(periods), Payment: at(payment), Present: at(present), Future: at(future), Early: a.early(due),
	}
}

// coupon reads settlement, maturity, and from a place on frequency and basis.
func (a arguments) coupon(frequency int) finance.Coupon {
	return finance.Coupon{Settlement: a.day(0), Maturity: a.day(1), Frequency: a.rounded(frequency), Basis: a.basis(frequency + 1)}
}

func (a arguments) security(basis int) finance.Security {
	return finance.Security{Settlement: a.day(0), Maturity: a.day(1), Basis: a.basis(basis)}
}

func (a arguments) asset() finance.Asset {
	return finance.Asset{Cost: a.number(0), Salvage: a.number(1), Life: a.number(2)}
}

// calculation is a function that computes a number of scalars. What is no number
// is an error.
func calculation(name string, min, max int, f func(arguments) float64) function {
	return variadic(min, max, func(a []value.Value) value.Value { return finite(name, f(a)) })
}

// financialFunctions compute interest, bonds and depreciation; what they do is in
// package finance.
func financialFunctions() map[string]function {
	all := map[string]function{
		"xnpv": cashFlows(4, 4, func(flows []finance.Flow, rest arguments) float64 {
			return finance.PresentValue(flows, rest.number(0))
		}),
		"xirr": cashFlows(3, 5, func(flows []finance.Flow, rest arguments) float64 {
			return finance.InternalRate(flows, rest.numberOr(0, 0.1))
		}),
	}
	for _, family := range []map[string]financial{annuities(), depreciation(), coupons(), bonds(), securities()} {
		for name, f := range family {
			all[name] = calculation(strings.ToUpper(name), f.min, f.max, f.compute)
		}
	}
	for name, f := range map[string]func(finance.Coupon) time.Time{
		"couppcd": finance.Coupon.Previous, "coupncd": finance.Coupon.Next,
	} {
		all[name] = variadic(3, 4, func(a []value.Value) value.Value {
			c := arguments(a).coupon(2)
			if !c.Valid() {
				finite(name, math.NaN())
			}
			return dated(f(c))
		})
	}
	return all
}

// A financial function has a number of arguments and computes one.
type financial struct {
	min, max int
	compute  func(arguments) float64
}

func annuities() map[string]financial {
	// long is the number of periods, of which there must be one at least.
	long := func(a finance.Annuity, f func() float64) float64 {
		if a.Periods < 1 {
			return math.NaN()
		}
		return f()
	}
	part := func(of func(finance.Annuity, float64) float64) financial {
		return financial{4, 6, func(a arguments) float64 {
			loan, period := a.annuity(0, 2, -1, 3, 4, 5), a.number(1)
			if period < 1 || period >= loan.Periods+1 {
				return math.NaN()
			}
			return long(loan, func() float64 { return of(loan, period) })
		}}
	}
	total := func(of func(finance.Annuity, float64) float64) financial {
		return financial{6, 6, func(a arguments) float64 {
			return a.annuity(0, 1, -1, 2, -1, 5).Between(a.rounded(3), a.rounded(4), of)
		}}
	}
	return map[string]financial{
		"fv": {3, 5, func(a arguments) float64 {
			loan := a.annuity(0, 1, 2, 3, -1, 4)
			return long(loan, loan.FutureValue)
		}},
		"pv": {3, 5, func(a arguments) float64 {
			loan := a.annuity(0, 1, 2, -1, 3, 4)
			return long(loan, loan.PresentValue)
		}},
		"pmt": {3, 5, func(a arguments) float64 {
			loan := a.annuity(0, 1, -1, 2, 3, 4)
			return long(loan, loan.PaymentValue)
		}},
		"ipmt":     part(finance.Annuity.Interest),
		"ppmt":     part(finance.Annuity.Principal),
		"cumipmt":  total(finance.Annuity.Interest),
		"cumprinc": total(finance.Annuity.Principal),
		"nper":     {3, 5, func(a arguments) float64 { return a.annuity(0, -1, 1, 2, 3, 4).NumberOfPeriods() }},
		"rate": {3, 6, func(a arguments) float64 {
			return a.annuity(-1, 0, 1, 2, 3, 4).RateOf(a.numberOr(5, 0.1))
		}},
		// The interest of a loan that is paid back in equal parts.
		"ispmt":     {4, 4, func(a arguments) float64 { return -a.number(3) * a.number(0) * (1 - a.number(1)/a.number(2)) }},
		"effect":    {2, 2, func(a arguments) float64 { return finance.Effect(a.number(0), a.rounded(1)) }},
		"nominal":   {2, 2, func(a arguments) float64 { return finance.Nominal(a.number(0), a.rounded(1)) }},
		"rri":       {3, 3, func(a arguments) float64 { return finance.Growth(a.number(0), a.number(1), a.number(2)) }},
		"pduration": {3, 3, func(a arguments) float64 { return finance.GrowthPeriods(a.number(0), a.number(1), a.number(2)) }},
		"dollarde":  {2, 2, func(a arguments) float64 { return dollars(a, false) }},
		"dollarfr":  {2, 2, func(a arguments) float64 { return dollars(a, true) }},
	}
}

// dollars is DOLLARDE and DOLLARFR: 1.02 in sixteenths is 1 and 2/16.
func dollars(a arguments, toFraction bool) float64 {
	fraction := a.rounded(1)
	if fraction < 1 {
		return math.NaN()
	}
	scale := float64(fraction) / math.Pow(10, math.Ceil(math.Log10(float64(fraction))))
	units, rest := math.Modf(a.number(0))
	if toFraction {
		return units + rest*scale
	}
	return units + rest/scale
}

func depreciation() map[string]financial {
	french := func(of func(finance.FrenchAsset, int) float64) financial {
		return financial{6, 7, func(a arguments) float64 {
			asset := finance.FrenchAsset{
				Cost: a.number(0), Salvage: a.number(3), Bought: a.day(1), End: a.day(2), Rate: a.number(5), Basis: a.basis(6),
			}
			return of(asset, a.rounded(4))
		}}
	}
	return map[string]financial{
		"sln": {3, 3, func(a arguments) float64 { return a.asset().StraightLine() }},
		"syd": {4, 4, func(a arguments) float64 { return a.asset().SumOfYears(a.number(3)) }},
		"db":  {4, 5, func(a arguments) float64 { return a.asset().FixedDeclining(a.rounded(3), a.roundedOr(4, 12)) }},
		"ddb": {4, 5, func(a arguments) float64 { return a.asset().Declining(math.Round(a.number(3)), a.numberOr(4, 2)) }},
		"vdb": {5, 7, func(a arguments) float64 {
			return a.asset().Variable(a.number(3), a.number(4), a.numberOr(5, 2), a.truth(6, false))
		}},
		"amorlinc":  french(finance.FrenchAsset.Linear),
		"amordegrc": french(finance.FrenchAsset.Degressive),
	}
}

func coupons() map[string]financial {
	of := func(f func(finance.Coupon) float64) financial {
		return financial{3, 4, func(a arguments) float64 {
			c := a.coupon(2)
			if !c.Valid() {
				return math.NaN()
			}
			return f(c)
		}}
	}
	return map[string]financial{
		"coupnum":    of(func(c finance.Coupon) float64 { return float64(c.Number()) }),
		"coupdays":   of(finance.Coupon.Days),
		"coupdaybs":  of(finance.Coupon.DaysBefore),
		"coupdaysnc": of(finance.Coupon.DaysAfter),
	}
}

func bonds() map[string]financial {
	// settlement, maturity, rate, price or yield, redemption, frequency, basis
	bond := func(f func(finance.Bond, float64) float64) financial {
		return financial{6, 7, func(a arguments) float64 {
			return f(finance.Bond{Coupon: a.coupon(5), Rate: a.number(2), Redemption: a.number(4)}, a.number(3))
		}}
	}
	// settlement, maturity, coupon, yield, frequency, basis
	duration := func(f func(finance.Bond, float64) float64) financial {
		return financial{5, 6, func(a arguments) float64 {
			return f(finance.Bond{Coupon: a.coupon(4), Rate: a.number(2), Redemption: 100}, a.number(3))
		}}
	}
	// settlement, maturity, issue, first coupon, rate, price or yield, …
	firstOdd := func(f func(finance.FirstOdd, float64) float64) financial {
		return financial{8, 9, func(a arguments) float64 {
			return f(finance.FirstOdd{
				Bond:  finance.Bond{Coupon: a.coupon(7), Rate: a.number(4), Redemption: a.number(6)},
				Issue: a.day(2), First: a.day(3),
			}, a.number(5))
		}}
	}
	// settlement, maturity, last interest, rate, price or yield, …
	lastOdd := func(f func(finance.LastOdd, float64) float64) financial {
		return financial{7, 8, func(a arguments) float64 {
			return f(finance.LastOdd{
				Settlement: a.day(0), Maturity: a.day(1), Last: a.day(2), Rate: a.number(3), Redemption: a.number(5),
				Frequency: a.rounded(6), Basis: a.basis(7),
			}, a.number(4))
		}}
	}
	return map[string]financial{
		"price": bond(finance.Bond.Price), "yield": bond(finance.Bond.Yield),
		"duration": duration(finance.Bond.Duration), "mduration": duration(finance.Bond.ModifiedDuration),
		"oddfprice": firstOdd(finance.FirstOdd.Price), "oddfyield": firstOdd(finance.FirstOdd.Yield),
		"oddlprice": lastOdd(finance.LastOdd.Price), "oddlyield": lastOdd(finance.LastOdd.Yield),
		"accrint": {6, 8, func(a arguments) float64 {
			return finance.Accrual{
				Issue: a.day(0), First: a.day(1), Settlement: a.day(2), Rate: a.number(3), Par: a.number(4),
				Frequency: a.rounded(5), Basis: a.basis(6), Partial: !a.truth(7, true),
			}.Interest()
		}},
		"accrintm": {4, 5, func(a arguments) float64 {
			return finance.AccruedAtMaturity(a.day(0), a.day(1), a.number(2), a.number(3), a.basis(4))
		}},
	}
}

func securities() map[string]financial {
	// settlement, maturity, two numbers, basis
	security := func(f func(finance.Security, float64, float64) float64) financial {
		return financial{4, 5, func(a arguments) float64 { return f(a.security(4), a.number(2), a.number(3)) }}
	}
	// settlement, maturity, issue, rate, price or yield, basis
	matured := func(f func(finance.Matured, float64) float64) financial {
		return financial{5, 6, func(a arguments) float64 {
			return f(finance.Matured{Security: a.security(5), Issue: a.day(2), Rate: a.number(3)}, a.number(4))
		}}
	}
	bill := func(f func(finance.Bill, float64) float64) financial {
		return financial{3, 3, func(a arguments) float64 {
			return f(finance.Bill{Settlement: a.day(0), Maturity: a.day(1)}, a.number(2))
		}}
	}
	return map[string]financial{
		"disc": security(finance.Security.Discount), "pricedisc": security(finance.Security.DiscountPrice),
		"yielddisc": security(finance.Security.DiscountYield), "intrate": security(finance.Security.DiscountYield),
		"received": security(finance.Security.Received),
		"pricemat": matured(finance.Matured.Price), "yieldmat": matured(finance.Matured.Yield),
		"tbilleq": bill(finance.Bill.BondYield), "tbillprice": bill(finance.Bill.Price), "tbillyield": bill(finance.Bill.Yield),
	}
}

// cashFlows is XNPV and XIRR ( table, values, dates, … ). XIRR has an alternate
// result as its last argument, for where there is no answer.
func cashFlows(min, max int, f func(flows []finance.Flow, rest arguments) float64) function {
	return scalarFunction(min, max, func(c *compiler, s *scope, x *dax.Call) node {
		table, sc := c.tableOf(s, x.Args[0])
		inner := s.row(sc)
		amount, date := c.scalarOf(inner, x.Args[1]), c.scalarOf(inner, x.Args[2])
		var rest []scalar
		for _, arg := range x.Args[3:] {
			rest = append(rest, c.scalarOf(s, arg))
		}
		return node{scalar: func(e *env) value.Value {
			var flows []finance.Flow
			e.each(table(e), func(int) {
				v, on := amount(e), date(e)
				if v.IsBlank() && on.IsBlank() {
					return
				}
				flows = append(flows, finance.Flow{Amount: must(value.Number(v)).Float(), Day: math.Floor(value.Serial(clock(on)))})
			})
			args := make(arguments, len(rest))
			for i, arg := range rest {
				args[i] = arg(e)
			}
			r := f(flows, args)
			if len(args) > 1 && (math.IsNaN(r) || math.IsInf(r, 0)) {
				return args[1]
			}
			return finite(strings.ToUpper(x.Func), r)
		}}
	})
}
