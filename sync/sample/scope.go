package sample

import (
	"slices"
	"strings"
)

// The permissions that an admin of the company has consented to for the app
// registration, by resource, where the tenant is not configured otherwise. Whatever
// a program may want to try is there.
var consented = map[string][]string{
	AppAudience:   {"access_as_user"},
	GraphAudience: {"User.Read", "GroupMember.Read.All"},
	PowerBIAudience: {
		"App.Read.All", "Capacity.Read.All", "Dashboard.Read.All", "Dataset.Read.All", "Dataset.ReadWrite.All",
		"Report.Read.All", "Workspace.Read.All", "Tenant.Read.All",
	},
}

// needed are those of them that the product asks for.
var needed = map[string][]string{GraphAudience: {"User.Read"}, PowerBIAudience: {"Dataset.Read.All"}}

var openIDScopes = []string{"openid", "profile", "email", "offline_access"}

// A scope is a requested scope taken apart.
type scope struct {
	openID    []string
	resources []string            // in the order of the request
	names     map[string][]string // permissions by resource
}

// parseScope reads a scope parameter. A name without a resource is Graph's. It
// fails with the code that Entra has for the mistake.
func (t *Tenant) parseScope(text string) (scope, *entraError) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s := scope{names: map[string][]string{}}
	for _, word := range strings.Fields(text) {
		if slices.Contains(openIDScopes, word) {
			s.openID = append(s.openID, word)
			continue
		}
		resource, name := GraphAudience, word
		if strings.Contains(word, "://") {
			i := strings.LastIndex(word, "/")
			resource, name = strings.TrimSuffix(word[:i], "/"), word[i+1:]
		}
		allowed, ok := t.consents[resource]
		switch {
		case !ok:
			return s, entraErrorf(400, "invalid_resource", 500011,
				"The resource principal named %s was not found in the tenant named Tarnwick Outfitters.", resource)
		case name == ".default":
			s.names[resource] = append(s.names[resource], allowed...)
		case !slices.Contains(allowed, name):
			return s, entraErrorf(400, "invalid_scope", 70011,
				"The provided value for the input parameter 'scope' is not valid. The scope %s is not valid.", word)
		default:
			s.names[resource] = append(s.names[resource], name)
		}
		if !slices.Contains(s.resources, resource) {
			s.resources = append(s.resources, resource)
		}
	}
	return s, nil
}

func (s scope) has(name string) bool { return slices.Contains(s.openID, name) }
