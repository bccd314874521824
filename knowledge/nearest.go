package knowledge

import (
	"slices"
	"strings"
)

// Nearest returns up to most of the names that are like name, best first: those
// that hold it or stand in it, and those that few letters apart make it. Names
// that are nothing like it are left out.
func Nearest(name string, names []string, most int) []string {
	type scored struct {
		name  string
		score int
	}
	wanted := []rune(Fold(strings.TrimSpace(name)))
	var near []scored
	seen := map[string]bool{}
	for _, n := range names {
		folded := Fold(n)
		if seen[folded] || len(wanted) == 0 {
			continue
		}
		seen[folded] = true
		got := []rune(folded)
		distance := editDistance(wanted, got)
		holds := strings.Contains(folded, string(wanted)) || len(got) > 2 && strings.Contains(string(wanted), folded)
		if holds {
			distance = min(distance, 1)
		}
		if holds || distance <= max(len(wanted), len(got))*2/5 {
			near = append(near, scored{n, distance})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return strings.Compare(a.name, b.name)
	})
	out := []string{}
	for _, n := range near[:min(most, len(near))] {
		out = append(out, n.name)
	}
	return out
}

// editDistance counts the letters to insert, remove or replace to make a into b.
func editDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
