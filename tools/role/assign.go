package role

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// ErrPoliciesUnknown is returned where nobody said where the deployment's policies are.
var ErrPoliciesUnknown = errors.New("the deployment's policies are not known to this process")

// Assign gives a role.
func Assign(s Assignments, p Policies) *operation.Def {
	return operation.Operation[AssignInput, Outcome]{
		Name:  "assign_role",
		Title: "Give a role",
		Doc: "Gives a role to a person by email, to everybody of an email domain, to a group by the id that its provider gives it, or to the " +
			"whole tenant: exactly one of them. It counts from their next request on. The answer says what became of their roles.",
		Route:    "POST /admin/roles",
		Command:  "admin roles assign <role>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[AssignInput](policies.ManagePeople),
		Handle: func(ctx context.Context, c *operation.Call, in AssignInput) (Outcome, error) {
			a, err := in.assignment()
			if err != nil {
				return Outcome{}, err
			}
			warnings, err := checkRole(ctx, p, in.Role, in.Custom)
			if err != nil {
				return Outcome{}, err
			}
			change, err := s.Assign(ctx, c.Principal, a)
			if err != nil {
				return Outcome{}, err
			}
			out := assigned(change)
			out.Warnings = append(append([]string{}, warnings...), out.Warnings...)
			return out, nil
		},
	}.Def()
}

// AssignInput is the input of [Assign].
type AssignInput struct {
	Role      string `json:"role" doc:"Name of the role: viewer, curator, admin or pii_reader, or with custom one that the deployment's own policies name" minLength:"1" maxLength:"100" example:"curator"`
	Person    string `json:"person,omitempty" doc:"Email of a person" maxLength:"320" example:"ada@sample.example"`
	Domain    string `json:"domain,omitempty" doc:"An email domain, for everybody whose provider vouches for it" maxLength:"253" example:"sample.example"`
	Group     string `json:"group,omitempty" doc:"Id of a group, as its provider's tokens have it" maxLength:"200"`
	Provider  string `json:"provider,omitempty" doc:"The group's provider, by its id; microsoft where it is left out" maxLength:"30" example:"microsoft"`
	Everybody bool   `json:"everybody,omitempty" doc:"Every member of the company's tenant"`
	Custom    bool   `json:"custom,omitempty" doc:"The role is one of the deployment's own policies"`
}

var (
	domainName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	uuid       = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	customName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,99}$`)
)

// assignment is what the input asks for, or the mistake in it.
func (in AssignInput) assignment() (a Assignment, err error) {
	a = Assignment{Role: in.Role}
	targets := 0
	for _, t := range []struct {
		kind    Kind
		subject string
		given   bool
	}{
		{ToPerson, in.Person, in.Person != ""}, {ToDomain, in.Domain, in.Domain != ""},
		{ToGroup, in.Group, in.Group != ""}, {ToTenant, "", in.Everybody},
	} {
		if t.given {
			targets++
			a.Kind, a.Subject = t.kind, t.subject
		}
	}
	if targets != 1 {
		return a, operation.Invalidf("Give exactly one of them: on the command line --person, --domain or --group, or --everybody for all members of the tenant.",
			"A role is given to one of person, domain and group, and %d are named.", targets)
	}
	if in.Provider != "" && a.Kind != ToGroup {
		return a, operation.Invalidf("Leave provider out, or name a group of it.", "Only a group has a provider.")
	}
	if (in.Role == policies.RoleAdmin || in.Role == policies.RolePIIReader) && (a.Kind == ToDomain || a.Kind == ToTenant) {
		return a, operation.Invalidf("Assign it to people by email, or to a group.", "%s is given to a person or a group only.", in.Role)
	}
	switch a.Kind {
	case ToPerson:
		a.Subject = strings.ToLower(a.Subject)
		return a, checkEmail(a.Subject)
	case ToDomain:
		if a.Subject = strings.ToLower(a.Subject); !domainName.MatchString(a.Subject) {
			return a, operation.Invalidf("Write what stands behind the @, such as sample.example.", "%q is not an email domain.", in.Domain)
		}
	case ToGroup:
		a.Provider = in.Provider
		if a.Provider == "" {
			a.Provider = "microsoft"
		}
		if lower := strings.ToLower(a.Subject); a.Provider == "microsoft" {
			if a.Subject = lower; !uuid.MatchString(lower) {
				return a, operation.Invalidf("Entra shows it as the group's object id, such as 9b2f1c7e-0000-4000-8000-000000000000.", "%q is not the id of a Microsoft group.", in.Group)
			}
		}
	}
	return a, nil
}

func checkEmail(email string) error {
	if address, err := mail.ParseAddress(email); err != nil || address.Address != email {
		return operation.Invalidf("Write one address, such as ada@sample.example.", "%q is not an email address.", email)
	}
	return nil
}

// checkRole refuses a role that cannot be assigned, and warns of one that opens
// nothing because no policy names it.
func checkRole(ctx context.Context, p Policies, name string, custom bool) (warnings []string, err error) {
	if slices.Contains(shipped, name) {
		return nil, nil
	}
	if i := slices.IndexFunc(shipped, func(s string) bool { return strings.EqualFold(s, name) }); i >= 0 {
		return nil, operation.Invalidf("Write it in small letters.", "The role is named %s.", shipped[i])
	}
	if !customName.MatchString(name) || name == "csv_link" {
		return nil, operation.Invalidf("A role's name is a letter, and letters, digits, underscores, dots and hyphens after it.", "%q cannot be the name of a role.", name)
	}
	if !custom {
		e := operation.Invalidf("Shipped are viewer, curator, admin and pii_reader; give custom (--custom) for a role of the deployment's own policies.", "There is no role %q.", name)
		e.Names = knowledge.Nearest(name, shipped, 3)
		return nil, e
	}
	known, err := p.KnownRoles(ctx)
	switch {
	case errors.Is(err, ErrPoliciesUnknown):
		return []string{fmt.Sprintf("Whether a policy names %s could not be looked up: POLICIES_DIR does not say where the deployment's policies are.", name)}, nil
	case err != nil:
		return []string{fmt.Sprintf("Whether a policy names %s could not be looked up, since the deployment's policies cannot be read; pbmb check says what is wrong with them.", name)}, nil
	case slices.Contains(known, name):
		return nil, nil
	}
	warning := fmt.Sprintf("No policy of the deployment names %s, so it opens nothing.", name)
	if near := knowledge.Nearest(name, append(slices.Clone(shipped), known...), 3); len(near) > 0 {
		warning += " Did you mean " + strings.Join(near, " or ") + "?"
	}
	return []string{warning}, nil
}
