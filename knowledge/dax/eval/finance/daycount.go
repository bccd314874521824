package finance

import (
	"math"
	"time"
)

// A Basis is a convention for counting days.
type Basis int

// The bases, by the numbers that the functions of DAX take.
const (
	US30360      Basis = iota // months of 30 days, as in the United States
	ActualActual              // days and years as long as they are
	Actual360                 // days as they are, years of 360
	Actual365                 // days as they are, years of 365
	EU30360                   // months of 30 days, as in Europe
)

// Valid says whether there is such a basis.
func (b Basis) Valid() bool { return b >= US30360 && b <= EU30360 }

// Months30 says whether every month counts 30 days.
func (b Basis) months30() bool { return b == US30360 || b == EU30360 }

// year is how many days a year has by the basis, for coupons.
func (b Basis) year() float64 {
	if b == Actual365 {
		return 365
	}
	return 360
}

// actualDays is the number of days from a to b.
func actualDays(a, b time.Time) float64 {
	return float64(b.Unix()-a.Unix()) / (24 * 60 * 60) // a Duration ends after 292 years
}

// days is the number of days from a to b by the basis. Both are at midnight, and
// a is not after b.
func (b Basis) days(from, to time.Time) float64 {
	switch b {
	case US30360:
		return days30US(from, to, false)
	case EU30360:
		return days30(from, to, min(from.Day(), 30), min(to.Day(), 30))
	}
	return actualDays(from, to)
}

func days30(from, to time.Time, fromDay, toDay int) float64 {
	months := (to.Year()-from.Year())*12 + int(to.Month()) - int(from.Month())
	return float64(months*30 + toDay - fromDay)
}

// days30US counts months of 30 days. The 31st counts as the 30th where the start
// does, or always where both is set; so does the last of February.
func days30US(from, to time.Time, both bool) float64 {
	fromDay, toDay := from.Day(), to.Day()
	if lastOfFebruary(to) && (lastOfFebruary(from) || both) {
		toDay = 30
	}
	if toDay == 31 && (fromDay >= 30 || both) {
		toDay = 30
	}
	if fromDay == 31 || lastOfFebruary(from) {
		fromDay = 30
	}
	return days30(from, to, fromDay, toDay)
}

func lastOfFebruary(t time.Time) bool { return t.Month() == time.February && endsMonth(t) }

func endsMonth(t time.Time) bool { return t.AddDate(0, 0, 1).Day() == 1 }

func leap(year int) bool { return year%4 == 0 && year%100 != 0 || year%400 == 0 }

func day(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}

// YearFraction is the time between two days in years, whichever comes first.
func YearFraction(a, b time.Time, basis Basis) float64 {
	if a.After(b) {
		a, b = b, a
	}
	switch basis {
	case US30360, EU30360:
		return basis.days(a, b) / 360
	case ActualActual:
		return actualDays(a, b) / yearLength(a, b)
	case Actual360:
		return actualDays(a, b) / 360
	case Actual365:
		return actualDays(a, b) / 365
	}
	return math.NaN()
}

// yearLength is how long a year is for [ActualActual]: up to a year, 366 where
// February 29 is among the days; over more, the average of the years touched.
func yearLength(a, b time.Time) float64 {
	switch anniversary := a.AddDate(1, 0, 0); {
	case a.Year() == b.Year():
		if leap(a.Year()) {
			return 366
		}
		return 365
	case !b.After(anniversary):
		for _, year := range []int{a.Year(), b.Year()} {
			if d := day(year, time.February, 29); leap(year) && !d.Before(a) && !d.After(b) {
				return 366
			}
		}
		return 365
	}
	years := b.Year() - a.Year() + 1
	return actualDays(day(a.Year(), 1, 1), day(b.Year()+1, 1, 1)) / float64(years)
}
