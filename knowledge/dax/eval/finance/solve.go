package finance

import "math"

// solve finds where f is zero, near a guess and above low, by the secant method
// kept within a bracket. It gives NaN where it finds no place.
func solve(f func(float64) float64, guess, low float64) float64 {
	a, b, ok := bracket(f, guess, low)
	if !ok {
		return math.NaN()
	}
	fa, fb := f(a), f(b)
	for range 200 {
		if fa == 0 {
			return a
		}
		if fb == 0 {
			return b
		}
		x := b - fb*(b-a)/(fb-fa)
		if mid := (a + b) / 2; !(x > min(a, b) && x < max(a, b)) || math.Abs(x-mid) > 0.49*math.Abs(b-a) {
			x = mid
		}
		fx := f(x)
		if math.IsNaN(fx) {
			return math.NaN()
		}
		if (fx < 0) == (fa < 0) {
			a, fa = x, fx
		} else {
			b, fb = x, fx
		}
		if math.Abs(b-a) <= 1e-15*max(1, math.Abs(a)) {
			break
		}
	}
	if math.Abs(fa) < math.Abs(fb) {
		return a
	}
	return b
}

// bracket finds two places around the guess where f has opposite signs.
func bracket(f func(float64) float64, guess, low float64) (a, b float64, ok bool) {
	differ := func(x, y float64) bool { return x == 0 || y == 0 || (x < 0) != (y < 0) && x == x && y == y }
	if !(guess > low) {
		guess = low + 0.1
	}
	at := f(guess)
	down, up := guess, guess
	fdown, fup := at, at
	for step := 0.01; step < 1e12; step *= 1.6 {
		next := up + step
		if fnext := f(next); differ(fup, fnext) {
			return up, next, true
		} else {
			up, fup = next, fnext
		}
		if next = down - step; next <= low {
			next = low + (down-low)/2
		}
		if fnext := f(next); differ(fdown, fnext) {
			return next, down, true
		} else {
			down, fdown = next, fnext
		}
	}
	return 0, 0, false
}
