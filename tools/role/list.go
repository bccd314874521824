package role

import (
	"context"
	"fmt"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// List lists who has which role, or where one person's roles come from.
func List(s Assignments) *operation.Def {
	return operation.Operation[ListInput, operation.Page[Item]]{
		Name:  "list_role_assignments",
		Title: "List who has which role",
		Doc: "Lists the roles given to people, email domains, groups and the whole tenant. With effective it lists the roles that one " +
			"person has at this moment, each once for every assignment that gives it; kind says whether that is of the person, of a domain, " +
			"a group or the tenant, or the default role.",
		Route:    "GET /admin/roles",
		Command:  "admin roles list",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListInput](policies.ManagePeople),
		Handle: func(ctx context.Context, _ *operation.Call, in ListInput) (operation.Page[Item], error) {
			var none operation.Page[Item]
			offset, err := in.Offset()
			if err != nil {
				return none, err
			}
			var all []Assignment
			var note string
			if in.Effective == "" {
				all, err = s.ListAssignments(ctx)
			} else {
				all, note, err = sources(ctx, s, in.Effective)
			}
			if err != nil {
				return none, err
			}
			var items []Item
			for _, a := range all[min(offset, len(all)):min(offset+in.Limit, len(all))] {
				items = append(items, newItem(a))
			}
			page := operation.NewPage(items, offset, len(all), 0)
			page.Note = note
			return page, nil
		},
	}.Def()
}

// ListInput is the input of [List].
type ListInput struct {
	Effective string `json:"effective,omitempty" doc:"Email of a person: list what gives them each of their roles" maxLength:"320"`
	operation.PageInput
}

// sources are what gives a person each of their roles, and what to know beside it.
func sources(ctx context.Context, s Assignments, email string) (all []Assignment, note string, err error) {
	if err := checkEmail(email); err != nil {
		return nil, "", err
	}
	people, waiting, err := s.Effective(ctx, email)
	if err != nil {
		return nil, "", err
	}
	if len(people) == 0 {
		if len(waiting) == 0 {
			return nil, "Nobody has signed in with this address, and no role is assigned to it.", nil
		}
		return waiting, "Nobody has signed in with this address yet. What is assigned to it waits for whoever first does, with the email verified.", nil
	}
	p := people[0]
	all = p.Given
	if p.Default != "" {
		all = append(all, Assignment{Role: p.Default, Kind: ByDefault, Subject: "access.default_role"})
	}
	switch {
	case len(people) > 1:
		note = fmt.Sprintf("%d people are known by this address; these are the roles of the first of them, %s.", len(people), p.ID)
	case len(all) == 0:
		note = "No role reaches this person: they cannot get in."
	}
	if len(waiting) > 0 {
		note = joinSentences(note, fmt.Sprintf("Beside these, %s is assigned to the address and waits for a sign-in with the email verified.", enumerate(rolesOf(waiting))))
	}
	return all, note, nil
}

func rolesOf(list []Assignment) []string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.Role
	}
	return names
}
