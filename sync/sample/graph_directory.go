package sample

import (
	"net/http"
	"strings"
)

// What a person may read of the directory beside themselves.

// user is a person by object id or sign-in name. Who is somebody else takes a
// permission that nobody consented to.
func (t *Tenant) user(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	p := t.personByID(strings.ToLower(r.PathValue("user")))
	if p == nil {
		p = t.personByName(r.PathValue("user"))
	}
	t.mu.RUnlock()
	switch {
	case p != nil && p.id == c.person.id:
		t.me(w, r, c)
	case !c.may("User.ReadBasic.All", "User.Read.All"):
		graphError(w, r, t.now(), http.StatusForbidden, "Authorization_RequestDenied", "Insufficient privileges to complete the operation.")
	case p == nil:
		t.noSuchResource(w, r, r.PathValue("user"))
	default:
		t.me(w, r, caller{person: p})
	}
}

func (t *Tenant) noSuchResource(w http.ResponseWriter, r *http.Request, id string) {
	graphError(w, r, t.now(), http.StatusNotFound, "Request_ResourceNotFound",
		"Resource '"+id+"' does not exist or one of its queried reference-property objects are not present.")
}

// findGraphGroup returns the group of the path where the caller may read groups.
func (t *Tenant) findGraphGroup(w http.ResponseWriter, r *http.Request, c caller) *group {
	if !c.may("GroupMember.Read.All", "Group.Read.All") {
		graphError(w, r, t.now(), http.StatusForbidden, "Authorization_RequestDenied", "Insufficient privileges to complete the operation.")
		return nil
	}
	for _, g := range t.groups {
		if same(g.id, r.PathValue("group")) {
			return g
		}
	}
	t.noSuchResource(w, r, r.PathValue("group"))
	return nil
}

func groupObject(g *group) object {
	return object{"id": g.id, "displayName": g.name, "securityEnabled": true, "mailEnabled": false, "groupTypes": []string{}}
}

func (t *Tenant) group(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if g := t.findGraphGroup(w, r, c); g != nil {
		entry := groupObject(g)
		entry["@odata.context"] = t.context(r, "groups/$entity")
		writeJSON(w, http.StatusOK, entry)
	}
}

// members are the people and groups that a group has itself, in pages.
func (t *Tenant) members(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.findGraphGroup(w, r, c)
	if g == nil {
		return
	}
	list := []object{}
	for _, p := range g.people {
		list = append(list, object{"@odata.type": "#microsoft.graph.user", "id": p.id, "displayName": p.name, "userPrincipalName": p.upn, "mail": p.mail})
	}
	for _, inner := range g.groups {
		entry := groupObject(inner)
		entry["@odata.type"] = "#microsoft.graph.group"
		list = append(list, entry)
	}
	t.paged(w, r, "directoryObjects", list)
}

// memberOfAll lists the groups of a person without the cast, which mixes in the
// roles in the directory.
func (t *Tenant) memberOfAll(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	groups := t.groupsOf(c.person)
	t.mu.RUnlock()
	list := []object{}
	if c.person.fabricAdmin {
		list = append(list, object{
			"@odata.type": "#microsoft.graph.directoryRole", "id": id("directory role", "Fabric Administrator"), "displayName": "Fabric Administrator",
		})
	}
	for _, g := range groups {
		entry := groupObject(g)
		entry["@odata.type"] = "#microsoft.graph.group"
		list = append(list, entry)
	}
	t.paged(w, r, "directoryObjects", list)
}
