package sample

import (
	"fmt"
	"slices"
	"time"

	"github.com/pbmb/pbmb/knowledge"
)

// What changes of security roles, people and access take.
type (
	roleMemberOf struct {
		inRole
		Person string `json:"person" doc:"sign-in name or email, or the name of a group"`
	}
	roleFilter struct {
		inRole
		Table  string `json:"table" doc:"a table"`
		Filter string `json:"filter" doc:"DAX that is true for the rows to see; empty lets all through"`
	}
	groupMember struct {
		Group  string `json:"group" doc:"name or id of a group"`
		Person string `json:"person" doc:"sign-in name or email"`
	}
	appRight struct {
		App    string `json:"app" doc:"name or id of an app"`
		Person string `json:"person" doc:"sign-in name or email, or the name of a group"`
		Right  string `json:"right" doc:"Read, ReadReshare, ReadExplore or ReadReshareExplore; empty takes it away"`
	}
	seconds struct {
		Seconds int `json:"seconds" doc:"how long; 0 for no delay"`
	}
)

// roleChanges are those of the security roles of datasets.
func roleChanges() []Change {
	return []Change{
		declare("roles/add", "role add <dataset> <role>", "adds a security role, which lets everything through and has no members",
			func(t *Tenant, in inRole) error {
				return t.onModel(in.Dataset, func(e *draft) error {
					if e.role(in.Role) != nil {
						return fmt.Errorf("there is a role %q already", in.Role)
					}
					var r knowledge.Role
					if err := set(&r.Name, "role", in.Role); err != nil {
						return err
					}
					e.model.Roles = append(e.model.Roles, r)
					return nil
				})
			}),
		declare("roles/remove", "role remove <dataset> <role>", "removes a security role",
			func(t *Tenant, in inRole) error {
				return t.onModel(in.Dataset, func(e *draft) error {
					r := e.role(in.Role)
					if r == nil {
						return missing("role", in.Role)
					}
					e.dropRoles(func(other string) bool { return other == r.Name })
					return nil
				})
			}),
		declare("roles/clear", "role clear <dataset>", "removes all security roles, so that everybody who may query sees every row",
			func(t *Tenant, in inDataset) error {
				return t.onModel(in.Dataset, func(e *draft) error { e.dropRoles(func(string) bool { return true }); return nil })
			}),
		declare("roles/filter", "role filter <dataset> <role> <table> <filter>", "changes what a security role lets through of a table",
			func(t *Tenant, in roleFilter) error {
				return t.onModel(in.Dataset, func(e *draft) error { return e.setFilter(in.Role, in.Table, in.Filter) })
			}),
		declare("roles/assign", "role assign <dataset> <role> <person>", "makes a person or a group a member of a security role",
			func(t *Tenant, in roleMemberOf) error {
				return t.onRole(in, func(d *dataset, role string, who principal) {
					d.members = append(d.members, roleMember{role: role, who: who, span: span{from: t.now()}})
				})
			}),
		declare("roles/unassign", "role unassign <dataset> <role> <person>", "takes a person or a group out of a security role",
			func(t *Tenant, in roleMemberOf) error {
				return t.onRole(in, func(*dataset, string, principal) {})
			}),
	}
}

func (e *draft) role(name string) *knowledge.Role {
	for i := range e.model.Roles {
		if same(e.model.Roles[i].Name, name) {
			return &e.model.Roles[i]
		}
	}
	return nil
}

// dropRoles removes the roles whose names drop says yes to.
func (e *draft) dropRoles(drop func(name string) bool) {
	var left []knowledge.Role
	for _, r := range e.model.Roles {
		if drop(r.Name) {
			e.gone = append(e.gone, r.Name)
		} else {
			left = append(left, r)
		}
	}
	e.model.Roles = left
}

func (e *draft) setFilter(role, table, filter string) error {
	r := e.role(role)
	if r == nil {
		return missing("role", role)
	}
	t, err := e.table(table)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(r.Tables, func(p knowledge.TablePermission) bool { return same(p.Table, table) })
	if i < 0 {
		i = len(r.Tables)
		r.Tables = append(r.Tables, knowledge.TablePermission{Table: t.Name})
	}
	r.Tables[i].Filter = filter
	return nil
}

// onRole ends the membership of a principal in a role, before do gives it anew or not.
func (t *Tenant) onRole(in roleMemberOf, do func(d *dataset, role string, who principal)) error {
	return t.onDataset(in.Dataset, func(d *dataset) error {
		r := (&draft{model: d.model()}).role(in.Role)
		if r == nil {
			return missing("role", in.Role)
		}
		who, err := t.principalNamed(in.Person)
		if err != nil {
			return err
		}
		d.members = slices.Clone(d.members)
		for i, m := range d.members {
			if m.role == r.Name && m.who.objectID() == who.objectID() && m.until.IsZero() {
				d.members[i].until = t.now()
			}
		}
		do(d, r.Name, who)
		return nil
	})
}

// peopleChanges are those of people, groups, apps and what they are allowed.
func peopleChanges() []Change {
	return []Change{
		declare("groups/add", "group add <group> <person>", "puts a person into a group",
			func(t *Tenant, in groupMember) error { return t.setMember(in, true) }),
		declare("groups/remove", "group remove <group> <person>", "takes a person out of a group",
			func(t *Tenant, in groupMember) error { return t.setMember(in, false) }),
		declare("apps/users", "app user <app> <person> <right>", "lets a person or a group into an app",
			func(t *Tenant, in appRight) error { return t.setAppRight(in) }),
		declare("people/disable", "person disable <person>", "disables a person: Entra refuses the sign-in, and the APIs their tokens",
			func(t *Tenant, in inPerson) error {
				return t.onPerson(in.Person, func(p *person) { p.disabled.Store(true) })
			}),
		declare("people/enable", "person enable <person>", "lets a disabled person in again",
			func(t *Tenant, in inPerson) error {
				return t.onPerson(in.Person, func(p *person) { p.disabled.Store(false) })
			}),
		declare("people/guest", "person guest <person>", "makes a member of the tenant a guest, under the same name",
			func(t *Tenant, in inPerson) error {
				return t.onPerson(in.Person, func(p *person) { p.guest.Store(true) })
			}),
		declare("people/member", "person member <person>", "makes a guest a member of the tenant, under the same name",
			func(t *Tenant, in inPerson) error {
				return t.onPerson(in.Person, func(p *person) { p.guest.Store(false) })
			}),
		declare("tokens/revoke", "person revoke <person>", "ends a person's refresh tokens and sign-in sessions; access tokens last on",
			func(t *Tenant, in inPerson) error { return t.RevokeTokens(in.Person) }),
		declare("embedtokens/revoke", "embedtoken revoke <token_id>", "ends an embedding token, so that it opens no report any more",
			func(t *Tenant, in inEmbedToken) error {
				if t.RevokeEmbedTokens(in.ID) == 0 {
					return fmt.Errorf("embedding token %q: %w", in.ID, knowledge.ErrNotFound)
				}
				return nil
			}),
		declare("consents/give", "consent give <resource> <permission>", "gives the app registration a delegated permission, as an admin's consent does",
			func(t *Tenant, in consentTo) error { return t.setConsent(in, true) }),
		declare("consents/take", "consent take <resource> <permission>", "takes a delegated permission from the app registration",
			func(t *Tenant, in consentTo) error { return t.setConsent(in, false) }),
		declare("applications/give", "application give <application> <permission>", "gives a registration an application permission, which its own tokens then name",
			func(t *Tenant, in permissionOf) error { return t.setPermission(in, true) }),
		declare("applications/take", "application take <application> <permission>", "takes an application permission from a registration",
			func(t *Tenant, in permissionOf) error { return t.setPermission(in, false) }),
		declare("permissions/delay", "permission delay <seconds>", "makes changes of who may do what count only after some time; lists and scans tell them at once",
			func(t *Tenant, in seconds) error {
				if in.Seconds < 0 {
					return fmt.Errorf("seconds is %d, and must not be less than 0", in.Seconds)
				}
				t.mu.Lock()
				defer t.mu.Unlock()
				t.delay = time.Duration(in.Seconds) * time.Second
				return nil
			}),
	}
}

func (t *Tenant) onPerson(name string, do func(*person)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.personByName(name)
	if p == nil {
		return missing("person", name)
	}
	do(p)
	return nil
}

func (t *Tenant) setMember(in groupMember, member bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, err := t.groupNamed(in.Group)
	if err != nil {
		return err
	}
	p := t.personByName(in.Person)
	if p == nil {
		return missing("person", in.Person)
	}
	people := slices.DeleteFunc(slices.Clone(g.people), func(other *person) bool { return other.id == p.id })
	if member {
		people = append(people, p)
	}
	g.people = people
	return nil
}

func (t *Tenant) setAppRight(in appRight) error {
	if in.Right != "" && !rightsFrom(in.Right).read {
		return fmt.Errorf("%q is none of Read, ReadReshare, ReadExplore and ReadReshareExplore", in.Right)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	to, err := t.principalNamed(in.Person)
	if err != nil {
		return err
	}
	for a := range t.apps() {
		if same(a.name, in.App) || same(a.id, in.App) {
			a.users = t.setAccess(a.users, to, in.Right)
			t.touch(a.space)
			return nil
		}
	}
	return missing("app", in.App)
}

// inEmbedToken names an embedding token.
type inEmbedToken struct {
	ID string `json:"token_id" doc:"id of the token, as GenerateToken answers it"`
}

// RevokeEmbedTokens ends the embedding token with an id, or all where it is empty,
// and returns how many there were.
func (t *Tenant) RevokeEmbedTokens(id string) int { return t.embeds.revoke(id) }

// RevokeTokens ends the refresh tokens and sign-in sessions of a person. Access
// tokens last on, as they do at Entra.
func (t *Tenant) RevokeTokens(name string) error {
	t.mu.RLock()
	p := t.personByName(name)
	t.mu.RUnlock()
	if p == nil {
		return missing("person", name)
	}
	t.grants.revoke(p)
	return nil
}
