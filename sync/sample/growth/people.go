package growth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Divisions is how many divisions the workspaces and people belong to.
const Divisions = 10

const teamsOfDivision = 6

// The first three persons reach a known part of the tenant: of the datasets that
// are not personal Wide reaches those of the insight office, which are four fifths
// of all; Tenth those of one division; and None reaches nothing.
const (
	Wide = iota
	Tenth
	None
	named
)

// People is how many persons there are.
func (p Plan) People() int { return max(named+4*Divisions, 4*p.Workspaces) }

// A Person as the plan makes them up.
type Person struct {
	Index int
	Name  string
	Key   string // the sign-in name before the @
	Title string
}

// Person makes the person with a number, from 0 up.
func (p Plan) Person(i int) Person {
	switch i {
	case Wide:
		return Person{Index: i, Name: "Wida Reich", Key: "wide", Title: "Insight office: reaches four fifths of all datasets"}
	case Tenth:
		return Person{Index: i, Name: "Tessa Zent", Key: "tenth", Title: divisions[0].name + " analyst: reaches a tenth of all datasets"}
	case None:
		return Person{Index: i, Name: "Nemo Keen", Key: "none", Title: "Temporary help: reaches nothing"}
	}
	r := p.rand("person", i, 0)
	first, last := pick(r, firstNames), pick(r, lastNames)
	return Person{
		Index: i, Name: first + " " + last, Title: pick(r, titles),
		Key: fmt.Sprintf("%s.%s%05d", strings.ToLower(first), strings.ToLower(last), i),
	}
}

// PersonByKey finds a person by the sign-in name before the @, without letter case.
func (p Plan) PersonByKey(key string) (int, bool) {
	for i := range named {
		if strings.EqualFold(p.Person(i).Key, key) {
			return i, true
		}
	}
	digits := len(strings.TrimRight(key, "0123456789"))
	i, err := strconv.Atoi(key[digits:])
	if err != nil || i < named || i >= p.People() || !strings.EqualFold(p.Person(i).Key, key) {
		return 0, false
	}
	return i, true
}

// someone is anybody of a division who has no known reach.
func (p Plan) someone(r *rand.Rand, division int) int {
	of := (p.People() - named) / Divisions
	return named + r.IntN(of)*Divisions + division
}

// A Group of people. Its number tells what it is of: 0 is the insight office, then
// come the analysts of each division, then their teams.
type Group struct {
	Index int
	Name  string
	Teams []int // the groups in it
}

// Groups is how many there are.
func (p Plan) Groups() int { return 1 + Divisions + Divisions*teamsOfDivision }

// Office is the group of the insight office.
func (p Plan) Office() int { return 0 }

// Analysts is the group of the analysts of a division.
func (p Plan) Analysts(division int) int { return 1 + division }

// Team is one of the groups of which the analysts of a division are made up. Any
// number stands for one of them.
func (p Plan) Team(division, n int) int {
	return 1 + Divisions + division*teamsOfDivision + n%teamsOfDivision
}

// Group makes the group with a number, from 0 up.
func (p Plan) Group(i int) Group {
	g := Group{Index: i}
	switch {
	case i == 0:
		g.Name = "Insight office"
	case i <= Divisions:
		g.Name = divisions[i-1].name + " analysts"
		for n := range teamsOfDivision {
			g.Teams = append(g.Teams, p.Team(i-1, n))
		}
	default:
		division, n := (i-1-Divisions)/teamsOfDivision, (i-1-Divisions)%teamsOfDivision
		g.Name = divisions[division].name + " team " + regions[n]
	}
	return g
}

// In reports whether a person is in a group, through other groups too.
func (p Plan) In(person, group int) bool { return slices.Contains(p.GroupsOf(person), group) }

// GroupsOf are the groups that a person is in, those through other groups too. One
// person in sixteen is in none.
func (p Plan) GroupsOf(person int) []int {
	switch {
	case person == Wide:
		return []int{p.Office()}
	case person == Tenth:
		return []int{p.Analysts(0), p.Team(0, 0)}
	case person == None, person%16 == 15:
		return nil
	}
	division := (person - named) % Divisions
	list := []int{p.Analysts(division), p.Team(division, person/Divisions)}
	if person%97 == 0 {
		list = append([]int{p.Office()}, list...)
	}
	return list
}
