package finance

import (
	"math"
	"time"
)

// A Security is bought at one day and pays once, at its maturity.
type Security struct {
	Settlement, Maturity time.Time
	Basis                Basis
}

func (s Security) years() float64 {
	if !s.Settlement.Before(s.Maturity) || !s.Basis.Valid() {
		return math.NaN()
	}
	return YearFraction(s.Settlement, s.Maturity, s.Basis)
}

// positive gives NaN unless all are above zero, and 1 otherwise, to be multiplied
// with.
func positive(numbers ...float64) float64 {
	for _, n := range numbers {
		if !(n > 0) {
			return math.NaN()
		}
	}
	return 1
}

// Discount is the rate at which the redemption is discounted to the price.
func (s Security) Discount(price, redemption float64) float64 {
	return positive(price, redemption) * (redemption - price) / redemption / s.years()
}

// DiscountPrice is the inverse of [Security.Discount].
func (s Security) DiscountPrice(discount, redemption float64) float64 {
	return positive(discount, redemption) * (redemption - discount*redemption*s.years())
}

// DiscountYield is what a buyer at the price earns a year. It is the interest of
// an investment too.
func (s Security) DiscountYield(price, redemption float64) float64 {
	return positive(price, redemption) * (redemption - price) / price / s.years()
}

// Received is what an investment at a discount is paid back with.
func (s Security) Received(investment, discount float64) float64 {
	received := investment / (1 - discount*s.years())
	return positive(investment, discount, received) * received
}

// A Matured security pays its interest at maturity.
type Matured struct {
	Security
	Issue time.Time
	Rate  float64
}

// spans are the times from issue to maturity, from settlement to maturity and
// from issue to settlement, in years.
func (m Matured) spans() (life, left, gone float64) {
	if !m.Issue.Before(m.Settlement) || m.Rate < 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	return YearFraction(m.Issue, m.Maturity, m.Basis), m.years(), YearFraction(m.Issue, m.Settlement, m.Basis)
}

// Price is what gives the buyer that yield a year.
func (m Matured) Price(yield float64) float64 {
	if yield < 0 {
		return math.NaN()
	}
	life, left, gone := m.spans()
	return (100+life*m.Rate*100)/(1+left*yield) - gone*m.Rate*100
}

// Yield is what a buyer at the price earns a year.
func (m Matured) Yield(price float64) float64 {
	life, left, gone := m.spans()
	paid := price/100 + gone*m.Rate
	return positive(price) * ((1 + life*m.Rate) - paid) / paid / left
}

// AccruedAtMaturity is the interest of a security that pays it all at maturity.
func AccruedAtMaturity(issue, maturity time.Time, rate, par float64, basis Basis) float64 {
	return positive(rate, par) * par * rate * Security{issue, maturity, basis}.years()
}

// A Bill is a treasury bill, of at most a year.
type Bill struct{ Settlement, Maturity time.Time }

func (b Bill) days() float64 {
	if !b.Settlement.Before(b.Maturity) || b.Maturity.After(b.Settlement.AddDate(1, 0, 0)) {
		return math.NaN()
	}
	return actualDays(b.Settlement, b.Maturity)
}

// BondYield is the discount as the yield of a bond.
func (b Bill) BondYield(discount float64) float64 {
	return positive(discount) * 365 * discount / (360 - discount*b.days())
}

// Price is that at a discount.
func (b Bill) Price(discount float64) float64 {
	price := 100 * (1 - discount*b.days()/360)
	return positive(discount, price) * price
}

// Yield is what a buyer at the price earns a year.
func (b Bill) Yield(price float64) float64 {
	return positive(price) * (100 - price) / price * 360 / b.days()
}

// An Accrual is the interest that has grown since a bond was issued.
type Accrual struct {
	Issue, First, Settlement time.Time // First is the day of the first coupon
	Rate, Par                float64
	Frequency                int
	Basis                    Basis

	// Partial leaves out the whole periods before the one of the settlement, as
	// spreadsheets do when asked to count from the first interest.
	Partial bool
}

// Interest adds up the periods between issue and settlement, each as the part of
// it that has passed.
func (a Accrual) Interest() float64 {
	if !a.Issue.Before(a.Settlement) || !validFrequency(a.Frequency) || !a.Basis.Valid() {
		return math.NaN()
	}
	months, atEnd := 12/a.Frequency, endsMonth(a.First)
	n := 1 // periods before the first coupon
	if a.Settlement.After(a.First) && !a.Partial {
		for n = 0; !shift(a.First, -n*months, atEnd).Before(a.Settlement); n++ {
		}
		for ; !shift(a.First, -(n-1)*months, atEnd).After(a.Settlement); n-- {
		}
	}
	start := shift(a.First, -n*months, atEnd)
	length := Coupon{Settlement: start, Maturity: shift(a.First, -(n-1)*months, atEnd), Frequency: a.Frequency, Basis: a.Basis}.Days()
	periods := a.Basis.days(later(a.Issue, start), a.Settlement) / length
	for start.After(a.Issue) {
		end := start
		n++
		start = shift(a.First, -n*months, atEnd)
		switch {
		case start.Before(a.Issue):
			periods += a.part(start, end)
		case !a.Partial:
			periods++
		}
	}
	return positive(a.Rate, a.Par) * a.Par * a.Rate / float64(a.Frequency) * periods
}

// part is how much of a period lies after the issue.
func (a Accrual) part(start, end time.Time) float64 {
	switch a.Basis {
	case US30360:
		return days30US(a.Issue, end, false) / days30US(start, end, true)
	case Actual365:
		return actualDays(a.Issue, end) / (365 / float64(a.Frequency))
	}
	return a.Basis.days(a.Issue, end) / a.Basis.days(start, end)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
