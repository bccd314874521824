package finance

import (
	"math"
	"time"
)

// An Asset loses its value over its life, down to what it can be sold for.
type Asset struct {
	Cost, Salvage float64
	Life          float64 // periods
}

// valid takes what all but the straight line want.
func (a Asset) valid() bool {
	return a.Cost >= 0 && a.Salvage >= 0 && a.Life >= 1 && a.Life <= maxPeriods
}

// StraightLine is the same for each period.
func (a Asset) StraightLine() float64 {
	if a.Life == 0 {
		return math.NaN()
	}
	return (a.Cost - a.Salvage) / a.Life
}

// SumOfYears falls by the same amount each period.
func (a Asset) SumOfYears(period float64) float64 {
	if a.Life < 1 || period < 1 || period > a.Life {
		return math.NaN()
	}
	return (a.Cost - a.Salvage) * (a.Life - period + 1) * 2 / (a.Life * (a.Life + 1))
}

// FixedDeclining takes the same share of the value each year, rounded to three
// decimals. The first year has that many months; the last one the others.
func (a Asset) FixedDeclining(period, months int) float64 {
	if !a.valid() || period < 1 || months < 1 || months > 12 ||
		float64(period) > a.Life+1 || float64(period) > a.Life && months == 12 {
		return math.NaN()
	}
	if a.Cost == 0 {
		return 0
	}
	rate := math.Round((1-math.Pow(a.Salvage/a.Cost, 1/a.Life))*1000) / 1000
	loss := a.Cost * rate * float64(months) / 12
	for lost, p := loss, 2; p <= period; p++ {
		loss = (a.Cost - lost) * rate
		if float64(p) > a.Life {
			loss *= float64(12-months) / 12
		}
		lost += loss
	}
	return loss
}

// Declining takes factor / life of the value each period, down to the salvage.
func (a Asset) Declining(period, factor float64) float64 {
	if !a.valid() || period < 1 || period > a.Life || factor <= 0 {
		return math.NaN()
	}
	rate := min(factor/a.Life, 1)
	before := a.Cost * math.Pow(1-rate, period-1)
	after := max(a.Cost*math.Pow(1-rate, period), a.Salvage)
	return max(before-after, 0)
}

// Variable is the declining loss from one point in time to another, both counted
// in periods and perhaps within one. It goes on in a straight line, unless stay
// is set, once that takes more.
func (a Asset) Variable(from, to, factor float64, stay bool) float64 {
	if !a.valid() || from < 0 || from > to || to > a.Life || factor < 0 {
		return math.NaN()
	}
	lost, total := 0.0, 0.0
	for start := 0.0; start < to; start++ {
		rest := a.Cost - a.Salvage - lost
		loss := min((a.Cost-lost)*factor/a.Life, max(rest, 0))
		if line := rest / (a.Life - start); !stay && line > loss {
			loss = line
		}
		lost += loss
		if share := min(to, start+1) - max(from, start); share > 0 {
			total += loss * share
		}
	}
	return total
}

// A FrenchAsset is written off as French accounting does: by a rate a year, the
// first year in proportion to its days.
type FrenchAsset struct {
	Cost, Salvage float64
	Bought, End   time.Time // of the first period
	Rate          float64
	Basis         Basis
}

func (a FrenchAsset) valid(period int) bool {
	return a.Cost >= 0 && a.Salvage >= 0 && a.Salvage <= a.Cost && !a.Bought.After(a.End) &&
		period >= 0 && period <= maxPeriods && a.Rate > 0 && a.Basis.Valid() && a.Basis != Actual360
}

// Linear is the loss of a period, counted from 0, in a straight line.
func (a FrenchAsset) Linear(period int) float64 {
	if !a.valid(period) {
		return math.NaN()
	}
	year := a.Cost * a.Rate
	first := min(year*YearFraction(a.Bought, a.End, a.Basis), a.Cost-a.Salvage)
	if period == 0 {
		return first
	}
	return max(min(year, a.Cost-a.Salvage-first-float64(period-1)*year), 0)
}

// Degressive is the loss of a period with the coefficient of its life, in whole
// units. The last two periods share what is left.
func (a FrenchAsset) Degressive(period int) float64 {
	coefficient, ok := coefficientOf(1 / a.Rate)
	if !a.valid(period) || !ok {
		return math.NaN()
	}
	rate := a.Rate * coefficient
	worth := a.Cost
	loss := math.Round(worth * rate * YearFraction(a.Bought, a.End, a.Basis))
	worth -= loss
	rest := worth - a.Salvage
	for p := range period {
		loss = math.Round(worth * rate)
		if rest -= loss; rest < 0 {
			if period-p <= 1 {
				return math.Round(worth / 2)
			}
			return 0
		}
		worth -= loss
	}
	return loss
}

// coefficientOf is by how much the rate rises for a life of that many years.
func coefficientOf(life float64) (float64, bool) {
	switch {
	case life >= 3 && life <= 4:
		return 1.5, true
	case life >= 5 && life <= 6:
		return 2, true
	case life > 6:
		return 2.5, true
	}
	return 0, false
}
