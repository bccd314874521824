package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pbmb/pbmb/sync/sample/embedding"
	"github.com/pbmb/pbmb/sync/sample/embedding/vocabulary"
)

const (
	// common is how many of the directions that words differ most in are taken to
	// say nothing: they tell frequent words from rare ones rather than meanings.
	common = 1
	// evenness is how far the other directions are made alike: 0 leaves them as they
	// are, 1 gives all the same variance.
	evenness = 0.3
)

// prepare takes from all vectors what they have in common, turns them so that the
// first dimension says most, and makes them of length 1.
func prepare(words []vocabulary.Word) {
	n := embedding.Dimensions
	mean := make([]float64, n)
	for _, w := range words {
		for i, x := range w.Vector {
			mean[i] += x / float64(len(words))
		}
	}
	covariance := make([][]float64, n)
	for i := range covariance {
		covariance[i] = make([]float64, n)
	}
	for _, w := range words {
		for i := range w.Vector {
			w.Vector[i] -= mean[i]
		}
		for i, x := range w.Vector {
			for j, y := range w.Vector[:i+1] {
				covariance[i][j] += x * y / float64(len(words))
			}
		}
	}
	for i := range covariance {
		for j := range i {
			covariance[j][i] = covariance[i][j]
		}
	}
	directions := principal(covariance)
	for w := range words {
		turned := make([]float64, n)
		for i, d := range directions {
			// The common directions come last: they are what a short vector goes without.
			at := (i - common + n) % n
			strength := math.Pow(d.variance, -evenness/2)
			if i < common {
				strength = 0
			}
			turned[at] = dot(words[w].Vector, d.axis) * strength
		}
		words[w].Vector = unit(turned)
	}
}

// A direction is one in which vectors vary.
type direction struct {
	variance float64
	axis     []float64
}

// principal returns the directions of a covariance, which it overwrites, the
// greatest variance first (Jacobi's method).
func principal(a [][]float64) []direction {
	n := len(a)
	axes := make([][]float64, n) // rows
	for i := range axes {
		axes[i] = make([]float64, n)
		axes[i][i] = 1
	}
	for range 60 {
		for p := range n {
			for q := p + 1; q < n; q++ {
				if math.Abs(a[p][q]) < 1e-14 {
					continue
				}
				theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
				t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
				if theta < 0 {
					t = -t
				}
				c := 1 / math.Sqrt(t*t+1)
				s := t * c
				for k := range n {
					a[k][p], a[k][q] = c*a[k][p]-s*a[k][q], s*a[k][p]+c*a[k][q]
				}
				for k := range n {
					a[p][k], a[q][k] = c*a[p][k]-s*a[q][k], s*a[p][k]+c*a[q][k]
					axes[p][k], axes[q][k] = c*axes[p][k]-s*axes[q][k], s*axes[p][k]+c*axes[q][k]
				}
			}
		}
	}
	list := make([]direction, n)
	for i := range list {
		list[i] = direction{a[i][i], axes[i]}
	}
	slices.SortFunc(list, func(a, b direction) int { return cmp.Compare(b.variance, a.variance) })
	return list
}

// addSenses adds to the vectors of the glossary's words what they mean besides, in
// equal parts. A word that has no vector gets that alone.
func addSenses(words []vocabulary.Word, terms []vocabulary.Term) error {
	byText := map[string]int{}
	for i, w := range words {
		byText[w.Text] = i
	}
	changed := map[int][]float64{} // only at the end, so that the order of terms is nothing
	for _, t := range terms {
		if t.Abbreviation {
			continue
		}
		i, ok := byText[t.Word]
		if !ok {
			return fmt.Errorf("%s of the glossary has no vector: make it an abbreviation", t.Word)
		}
		sense := make([]float64, embedding.Dimensions)
		for _, text := range t.Means {
			for j, x := range words[byText[text]].Vector {
				sense[j] += x
			}
		}
		v := unit(sense)
		for j, x := range words[i].Vector {
			v[j] += x
		}
		changed[i] = unit(v)
	}
	for i, v := range changed {
		words[i].Vector = v
	}
	return nil
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// unit is a vector of length 1 in the direction of v.
func unit(v []float64) []float64 {
	length := math.Sqrt(dot(v, v))
	u := make([]float64, len(v))
	for i, x := range v {
		u[i] = x / length
	}
	return u
}
