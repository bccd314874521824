package finance

import "math"

// An Annuity is equal payments over a number of periods. What is paid out is
// negative, what comes in positive.
type Annuity struct {
	Rate    float64 // a period
	Periods float64
	Payment float64
	Present float64
	Future  float64
	Early   bool // payments come at the start of each period
}

// due is what payments at the start of a period grow by.
func (a Annuity) due() float64 {
	if a.Early {
		return 1 + a.Rate
	}
	return 1
}

// growth is what one grows to over all periods, and what a payment of one each
// period does.
func (a Annuity) growth() (of, payments float64) {
	if a.Rate == 0 {
		return 1, a.Periods
	}
	of = math.Pow(1+a.Rate, a.Periods)
	return of, a.due() * (of - 1) / a.Rate
}

// FutureValue is what is there after the last period.
func (a Annuity) FutureValue() float64 {
	of, payments := a.growth()
	return -(a.Present*of + a.Payment*payments)
}

// PresentValue is what the payments are worth today.
func (a Annuity) PresentValue() float64 {
	of, payments := a.growth()
	return -(a.Future + a.Payment*payments) / of
}

// PaymentValue is what is paid each period.
func (a Annuity) PaymentValue() float64 {
	of, payments := a.growth()
	return -(a.Future + a.Present*of) / payments
}

// Interest is the part of the payment of one period, counted from 1, that is
// interest.
func (a Annuity) Interest(period float64) float64 {
	a.Payment = a.PaymentValue()
	if a.Early && period == 1 {
		return 0
	}
	before := a
	before.Periods = period - 1
	interest := before.FutureValue() * a.Rate
	if a.Early {
		before.Periods = period - 2
		interest = (before.FutureValue() - a.Payment) * a.Rate
	}
	return interest
}

// Principal is the part of the payment of one period that pays the loan back.
func (a Annuity) Principal(period float64) float64 {
	return a.PaymentValue() - a.Interest(period)
}

// maxPeriods bounds what goes through the periods one by one.
const maxPeriods = 100_000

// Between adds up a part of the payments of the periods from one to another.
func (a Annuity) Between(first, last int, part func(Annuity, float64) float64) float64 {
	if a.Rate <= 0 || a.Periods < 1 || a.Present <= 0 || first < 1 || first > last || float64(last) > a.Periods || last > maxPeriods {
		return math.NaN()
	}
	total := 0.0
	for period := first; period <= last; period++ {
		total += part(a, float64(period))
	}
	return total
}

// NumberOfPeriods is how long it takes from the present to the future value.
func (a Annuity) NumberOfPeriods() float64 {
	if a.Rate == 0 {
		return -(a.Present + a.Future) / a.Payment
	}
	pays := a.Payment * a.due() / a.Rate
	return math.Log((pays-a.Future)/(pays+a.Present)) / math.Log(1+a.Rate)
}

// RateOf is the interest a period at which the annuity comes out even.
func (a Annuity) RateOf(guess float64) float64 {
	if a.Periods <= 0 {
		return math.NaN()
	}
	return solve(func(rate float64) float64 {
		a.Rate = rate
		of, payments := a.growth()
		return a.Present*of + a.Payment*payments + a.Future
	}, guess, -1)
}

// Effect is the effective interest a year of a nominal one that is paid in a
// number of parts.
func Effect(nominal float64, parts int) float64 {
	if nominal <= 0 || parts < 1 {
		return math.NaN()
	}
	return math.Pow(1+nominal/float64(parts), float64(parts)) - 1
}

// Nominal is the inverse of [Effect].
func Nominal(effective float64, parts int) float64 {
	if effective <= 0 || parts < 1 {
		return math.NaN()
	}
	return (math.Pow(1+effective, 1/float64(parts)) - 1) * float64(parts)
}

// Growth is the interest a period at which present becomes future.
func Growth(periods, present, future float64) float64 {
	if periods <= 0 {
		return math.NaN()
	}
	return math.Pow(future/present, 1/periods) - 1
}

// GrowthPeriods is how long present takes to become future.
func GrowthPeriods(rate, present, future float64) float64 {
	if rate <= 0 || present <= 0 || future <= 0 {
		return math.NaN()
	}
	return (math.Log(future) - math.Log(present)) / math.Log(1+rate)
}

// A Flow is one payment of an irregular series.
type Flow struct {
	Amount float64
	Day    float64 // days since any day
}

// PresentValue is what the payments are worth on the day of the first one. There
// must be one in each direction.
func PresentValue(flows []Flow, rate float64) float64 {
	if !bothWays(flows) || rate <= -1 {
		return math.NaN()
	}
	return presentValue(flows, rate)
}

func presentValue(flows []Flow, rate float64) float64 {
	total := 0.0
	for _, f := range flows {
		total += f.Amount / math.Pow(1+rate, (f.Day-flows[0].Day)/365)
	}
	return total
}

func bothWays(flows []Flow) bool {
	in, out := false, false
	for _, f := range flows {
		in, out = in || f.Amount > 0, out || f.Amount < 0
	}
	return in && out
}

// InternalRate is the interest a year at which the payments come out even.
func InternalRate(flows []Flow, guess float64) float64 {
	if !bothWays(flows) {
		return math.NaN()
	}
	return solve(func(rate float64) float64 { return presentValue(flows, rate) }, guess, -1)
}
