package role

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/policies"
)

// An Outcome is an assignment, given or taken away, with what it did.
type Outcome struct {
	Item
	Before   []string `json:"roles_before" doc:"Of one person: their roles before"`
	After    []string `json:"roles_after" doc:"Of one person: their roles from now on"`
	Reaches  int      `json:"reaches" doc:"How many of those who have signed in have the role by it, or had"`
	Effect   string   `json:"effect" doc:"What it did, in sentences"`
	Warnings []string `json:"warnings" doc:"What to know or to do about it"`
}

func newOutcome(c Change) Outcome {
	o := Outcome{Item: newItem(c.Assignment), Before: []string{}, After: []string{}, Warnings: []string{}, Reaches: len(c.People)}
	if c.Assignment.Kind == ToPerson && len(c.People) > 0 {
		o.Before, o.After = c.People[0].Before.Roles(), c.People[0].After.Roles()
	}
	return o
}

// assigned says what giving a role did.
func assigned(c Change) Outcome {
	o := newOutcome(c)
	a := c.Assignment
	switch {
	case a.Kind != ToPerson:
		o.Effect = joinSentences(fmt.Sprintf("%s %s %s now.", counted(len(c.People)), have(len(c.People)), a.Role), defaultOfMany(c))
	case len(c.People) == 0:
		o.After = append(slices.Clone(c.Waiting), a.Role)
		o.Before = append(o.Before, c.Waiting...)
		slices.Sort(o.After)
		o.After = slices.Compact(o.After)
		o.Effect = joinSentences(fmt.Sprintf("Nobody has signed in as %s yet: it waits for whoever first does, with the email verified.", a.Subject), c.whenTheyCome())
	default:
		o.Effect = c.People[0].sentence(c.Default)
	}
	if warning := c.defaultWillStop(); warning != "" {
		o.Warnings = append(o.Warnings, warning)
	}
	return o
}

// revoked says what taking a role away did.
func revoked(c Change) Outcome {
	o := newOutcome(c)
	a := c.Assignment
	switch {
	case a.Kind != ToPerson:
		var kept int
		for _, p := range c.People {
			if slices.Contains(p.After.Roles(), a.Role) {
				kept++
			}
		}
		o.Effect = fmt.Sprintf("%s had %s by it.", counted(len(c.People)), a.Role)
		if kept > 0 {
			o.Effect = joinSentences(o.Effect, fmt.Sprintf("%d of them keep it by something else.", kept))
		}
		o.Effect = joinSentences(o.Effect, defaultOfMany(c))
	case len(c.People) == 0:
		o.Before = append(slices.Clone(c.Waiting), a.Role)
		slices.Sort(o.Before)
		o.Before = slices.Compact(o.Before)
		o.After = append(o.After, c.Waiting...)
		o.Effect = fmt.Sprintf("Nobody had signed in as %s.", a.Subject)
	default:
		o.Effect = c.People[0].sentence(c.Default)
		if len(o.After) == 0 {
			o.Warnings = append(o.Warnings, "No role reaches them any more: they cannot get in.")
		}
	}
	if a.Role == policies.RoleAdmin {
		o.Warnings = append(o.Warnings, LastAdminWarning(c.AdminPeople, c.AdminGroups)...)
	}
	return o
}

// LastAdminWarning says how little keeps a deployment from having nobody to
// administer it; it says nothing where two people at least can.
func LastAdminWarning(people, groups int) []string {
	switch {
	case people > 1:
		return nil
	case people == 1:
		return []string{"One person alone is an admin by an assignment of their own. If their account ends, or a group that is admin is emptied, nobody may be left: make another person an admin."}
	case groups > 0:
		return []string{"Only members of groups are admins. Once the groups are emptied, nobody is left: make a person an admin by email."}
	}
	return []string{"Nobody who has signed in is an admin."}
}

// sentence says what a person's roles have become.
func (p Changed) sentence(byDefault string) string {
	before, after := p.Before.Roles(), p.After.Roles()
	text := fmt.Sprintf("%s has %s now.", p.After.Email, enumerate(after))
	if slices.Equal(before, after) {
		text = fmt.Sprintf("%s has %s, as before.", p.After.Email, enumerate(after))
	}
	switch {
	case p.Before.Default != "" && p.After.Default == "":
		text = joinSentences(text, fmt.Sprintf("The default role %s no longer applies to them, since a shipped role is given to them.", byDefault))
	case p.Before.Default == "" && p.After.Default != "":
		text = joinSentences(text, fmt.Sprintf("The default role %s applies to them from now on, since no shipped role is given to them any more.", byDefault))
	}
	return text
}

// defaultOfMany says for how many the default role begins or ends.
func defaultOfMany(c Change) string {
	var starts, stops int
	for _, p := range c.People {
		switch {
		case p.Before.Default != "" && p.After.Default == "":
			stops++
		case p.Before.Default == "" && p.After.Default != "":
			starts++
		}
	}
	switch {
	case stops > 0:
		return fmt.Sprintf("The default role %s no longer applies to %d of them.", c.Default, stops)
	case starts > 0:
		return fmt.Sprintf("The default role %s applies to %d of them from now on.", c.Default, starts)
	}
	return ""
}

// whenTheyCome says what the default role does to somebody who has not come yet.
func (c Change) whenTheyCome() string {
	if c.Default == "none" || !slices.Contains(shipped, c.Assignment.Role) {
		return ""
	}
	return fmt.Sprintf("The default role %s will not apply to them.", c.Default)
}

// defaultWillStop warns where pii_reader, which opens nothing by itself, takes the
// only normal role away, and gives the command that assigns it.
func (c Change) defaultWillStop() string {
	a := c.Assignment
	if a.Role != policies.RolePIIReader || c.Default == "none" {
		return ""
	}
	var lose []string // emails
	for _, p := range c.People {
		if !slices.ContainsFunc(p.After.Given, func(g Assignment) bool { return isNormal(g.Role) }) && p.Before.Default != "" {
			lose = append(lose, p.After.Email)
		}
	}
	if a.Kind == ToPerson && len(c.People) == 0 && !slices.ContainsFunc(c.Waiting, isNormal) {
		lose = append(lose, a.Subject)
	}
	switch {
	case len(lose) == 0:
		return ""
	case a.Kind == ToPerson:
		return fmt.Sprintf("pii_reader gives nothing but personal data, and %s had no normal role but the default %s, which stops applying. "+
			"Assign it: pbmb admin roles assign %[2]s --person %s", lose[0], c.Default, a.Subject)
	}
	return fmt.Sprintf("pii_reader gives nothing but personal data, and %s had no normal role but the default %s, which stops applying. "+
		"Assign it to the group: pbmb admin roles assign %[2]s --group %s --provider %s", counted(len(lose)), c.Default, a.Subject, a.Provider)
}

// isNormal reports whether a role is one that a person can work with.
func isNormal(role string) bool {
	return role == policies.RoleViewer || role == policies.RoleCurator || role == policies.RoleAdmin
}

func enumerate(roles []string) string {
	switch len(roles) {
	case 0:
		return "no role"
	case 1:
		return roles[0]
	}
	return strings.Join(roles[:len(roles)-1], ", ") + " and " + roles[len(roles)-1]
}

func counted(people int) string {
	switch people {
	case 0:
		return "Nobody who has signed in"
	case 1:
		return "One person"
	}
	return fmt.Sprintf("%d people", people)
}

func have(people int) string {
	if people > 1 {
		return "have"
	}
	return "has"
}

func joinSentences(first, second string) string { return strings.TrimSpace(first + " " + second) }
