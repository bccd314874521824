package finance

import (
	"math"
	"time"
)

// A FirstOdd bond has a first period that is shorter or longer than the others.
type FirstOdd struct {
	Bond
	Issue, First time.Time // First is the day of the first coupon
}

// Price is what gives the buyer that yield a year.
func (o FirstOdd) Price(yield float64) float64 {
	if !o.valid() || yield < 0 {
		return math.NaN()
	}
	return o.pricing()(yield)
}

// Yield is what a buyer at that price earns a year.
func (o FirstOdd) Yield(price float64) float64 {
	if !o.valid() || price <= 0 {
		return math.NaN()
	}
	of := o.pricing()
	return solve(func(yield float64) float64 { return of(yield) - price }, o.Rate, -0.999*float64(o.Frequency))
}

func (o FirstOdd) valid() bool {
	return o.Coupon.Valid() && o.First.Before(o.Maturity) && o.Settlement.Before(o.First) && o.Issue.Before(o.Settlement) &&
		o.Rate >= 0 && o.Redemption > 0
}

// first is the coupons up to the first one, seen from a day.
func (o FirstOdd) first(from time.Time) Coupon {
	return Coupon{Settlement: from, Maturity: o.First, Frequency: o.Frequency, Basis: o.Basis}
}

// pricing gives the price by the yield.
func (o FirstOdd) pricing() func(yield float64) float64 {
	f := float64(o.Frequency)
	pays := 100 * o.Rate / f
	before := o.first(o.Settlement)
	length := before.Days()
	after := Coupon{Settlement: o.First, Maturity: o.Maturity, Frequency: o.Frequency, Basis: o.Basis}.Number()

	// The first coupon and what of it has accrued, in parts of a usual one, and
	// the time until it, in periods.
	var coupon, accrued, wait float64
	if whole := o.Basis.days(o.Issue, o.First); whole < length {
		coupon, accrued = whole/length, o.Basis.days(o.Issue, o.Settlement)/length
		wait = o.Basis.days(o.Settlement, o.First) / length
	} else {
		coupon, accrued = o.long(length)
		wait = float64(before.Number()-1) + before.DaysAfter()/length
	}
	return func(yield float64) float64 {
		y := 1 + yield/f
		return o.Redemption/math.Pow(y, wait+float64(after)) + pays*coupon/math.Pow(y, wait) - pays*accrued +
			pays*discounted(yield/f, wait+1, after)
	}
}

// long adds up a long first period by usual ones.
func (o FirstOdd) long(length float64) (coupon, accrued float64) {
	months, atEnd := 12/o.Frequency, endsMonth(o.First)
	end := o.First
	for n := 1; end.After(o.Issue); n++ {
		start := shift(o.First, -n*months, atEnd)
		usual := length
		if o.Basis == ActualActual {
			usual = actualDays(start, end)
		}
		if start.Before(o.Issue) {
			coupon += o.Basis.days(o.Issue, end) / usual
		} else {
			coupon++
		}
		if from, to := later(o.Issue, start), earlier(o.Settlement, end); from.Before(to) {
			accrued += o.Basis.days(from, to) / usual
		}
		end = start
	}
	return coupon, accrued
}

// A LastOdd bond has a last period that is shorter or longer than the others, in
// which it is bought.
type LastOdd struct {
	Settlement, Maturity, Last time.Time // Last is the day of the last coupon before
	Rate, Redemption           float64
	Frequency                  int
	Basis                      Basis
}

// Price is what gives the buyer that yield a year.
func (o LastOdd) Price(yield float64) float64 {
	if !o.valid() || yield < 0 {
		return math.NaN()
	}
	f := float64(o.Frequency)
	coupon, accrued, left := o.periods()
	pays := 100 * o.Rate / f
	return (coupon*pays+o.Redemption)/(left*yield/f+1) - accrued*pays
}

// Yield is what a buyer at that price earns a year.
func (o LastOdd) Yield(price float64) float64 {
	if !o.valid() || price <= 0 {
		return math.NaN()
	}
	f := float64(o.Frequency)
	coupon, accrued, left := o.periods()
	pays := 100 * o.Rate / f
	paid := accrued*pays + price
	return (coupon*pays + o.Redemption - paid) / paid * f / left
}

func (o LastOdd) valid() bool {
	return o.Settlement.Before(o.Maturity) && o.Last.Before(o.Settlement) && o.Rate >= 0 && o.Redemption > 0 &&
		validFrequency(o.Frequency) && o.Basis.Valid()
}

// periods gives the length of the last period, what of it has passed and what is
// left, in usual ones.
func (o LastOdd) periods() (whole, gone, left float64) {
	months, atEnd := 12/o.Frequency, endsMonth(o.Last)
	start := o.Last
	for n := 1; start.Before(o.Maturity); n++ {
		end := shift(o.Last, n*months, atEnd)
		usual := o.Basis.days(start, end)
		whole += o.Basis.days(start, earlier(end, o.Maturity)) / usual
		if start.Before(o.Settlement) {
			gone += o.Basis.days(start, earlier(end, o.Settlement)) / usual
		}
		if from, to := later(start, o.Settlement), earlier(end, o.Maturity); from.Before(to) {
			left += o.Basis.days(from, to) / usual
		}
		start = end
	}
	return whole, gone, left
}
