package finance

import (
	"math"
	"time"
)

// A Coupon is when a bond pays interest: on days that are whole numbers of
// periods before its maturity.
type Coupon struct {
	Settlement time.Time // the day on which the bond is bought
	Maturity   time.Time
	Frequency  int // payments a year: 1, 2 or 4
	Basis      Basis
}

// Valid says whether there is such a bond.
func (c Coupon) Valid() bool {
	return c.Settlement.Before(c.Maturity) && validFrequency(c.Frequency) && c.Basis.Valid()
}

func validFrequency(f int) bool { return f == 1 || f == 2 || f == 4 }

// shift moves a coupon's day by periods of months. Coupons of a bond that matures
// at the end of a month fall on the ends of months.
func shift(t time.Time, months int, atEnd bool) time.Time {
	first := day(t.Year(), t.Month()+time.Month(months), 1)
	last := day(first.Year(), first.Month()+1, 0).Day()
	if atEnd {
		return day(first.Year(), first.Month(), last)
	}
	return day(first.Year(), first.Month(), min(t.Day(), last))
}

// around gives the coupon days before (or on) and after the settlement, and how
// many coupons are still to be paid.
func (c Coupon) around() (previous, next time.Time, n int) {
	months, atEnd := 12/c.Frequency, endsMonth(c.Maturity)
	between := (c.Maturity.Year()-c.Settlement.Year())*12 + int(c.Maturity.Month()) - int(c.Settlement.Month())
	n = max(between/months, 0)
	for n > 0 && !shift(c.Maturity, -n*months, atEnd).After(c.Settlement) {
		n--
	}
	for shift(c.Maturity, -n*months, atEnd).After(c.Settlement) {
		n++
	}
	return shift(c.Maturity, -n*months, atEnd), shift(c.Maturity, -(n-1)*months, atEnd), n
}

// Previous is the coupon day before the settlement, or on it.
func (c Coupon) Previous() time.Time {
	previous, _, _ := c.around()
	return previous
}

// Next is the coupon day after the settlement.
func (c Coupon) Next() time.Time {
	_, next, _ := c.around()
	return next
}

// Number is how many coupons are paid after the settlement.
func (c Coupon) Number() int {
	_, _, n := c.around()
	return n
}

// Days is the length of the coupon period of the settlement.
func (c Coupon) Days() float64 {
	if c.Basis == ActualActual {
		previous, next, _ := c.around()
		return actualDays(previous, next)
	}
	return c.Basis.year() / float64(c.Frequency)
}

// DaysBefore is from the start of the coupon period to the settlement.
func (c Coupon) DaysBefore() float64 { return c.Basis.days(c.Previous(), c.Settlement) }

// DaysAfter is from the settlement to the next coupon.
func (c Coupon) DaysAfter() float64 {
	if c.Basis.months30() {
		return c.Days() - c.DaysBefore()
	}
	return actualDays(c.Settlement, c.Next())
}

// A Bond pays interest at coupons and is redeemed at maturity.
type Bond struct {
	Coupon
	Rate       float64 // interest a year
	Redemption float64 // for 100 of face value
}

// Price is what gives the buyer that yield a year.
func (b Bond) Price(yield float64) float64 {
	if !b.Valid() || b.Rate < 0 || yield < 0 || b.Redemption <= 0 {
		return math.NaN()
	}
	return b.price(yield)
}

func (b Bond) price(yield float64) float64 {
	f := float64(b.Frequency)
	n, e, a := b.Number(), b.Days(), b.DaysBefore()
	pays := 100 * b.Rate / f
	if n == 1 {
		return (pays+b.Redemption)/(yield/f*(e-a)/e+1) - pays*a/e
	}
	y := 1 + yield/f
	rest := b.DaysAfter() / e
	return b.Redemption/math.Pow(y, float64(n-1)+rest) - pays*a/e + pays*discounted(yield/f, rest, n)
}

// discounted is what n payments of one are worth today at a rate a period: the
// first one comes after a time in periods, the others a period apart.
func discounted(rate, after float64, n int) float64 {
	first := math.Pow(1+rate, -after)
	if rate == 0 {
		return first * float64(n)
	}
	return first * -math.Expm1(-float64(n)*math.Log1p(rate)) * (1 + rate) / rate
}

// Yield is what a buyer at that price earns a year.
func (b Bond) Yield(price float64) float64 {
	if !b.Valid() || b.Rate < 0 || price <= 0 || b.Redemption <= 0 {
		return math.NaN()
	}
	if b.Number() > 1 {
		return solve(func(yield float64) float64 { return b.price(yield) - price }, b.Rate, -0.999*float64(b.Frequency))
	}
	f := float64(b.Frequency)
	e, a := b.Days(), b.DaysBefore()
	paid := price/100 + a/e*b.Rate/f
	return (b.Redemption/100 + b.Rate/f - paid) / paid * f * e / (e - a)
}

// Duration is Macaulay's: the mean time until payments at a face value of 100,
// weighed by what each is worth today, in years.
func (b Bond) Duration(yield float64) float64 {
	if !b.Valid() || b.Rate < 0 || yield < 0 {
		return math.NaN()
	}
	f := float64(b.Frequency)
	n, rest := b.Number(), b.DaysAfter()/b.Days()
	y := 1 + yield/f
	pays := 100 * b.Rate / f
	worth, weighed := 0.0, 0.0
	for k := range n {
		at := float64(k) + rest
		amount := pays
		if k == n-1 {
			amount += 100
		}
		p := amount / math.Pow(y, at)
		worth += p
		weighed += p * at
	}
	return weighed / worth / f
}

// ModifiedDuration is by how many percent the price falls when the yield rises by
// one.
func (b Bond) ModifiedDuration(yield float64) float64 {
	return b.Duration(yield) / (1 + yield/float64(b.Frequency))
}
