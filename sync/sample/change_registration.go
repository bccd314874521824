package sample

import (
	"fmt"
	"slices"
	"strings"
)

// What changes of the app registrations take.
type (
	consentTo struct {
		Resource   string `json:"resource" doc:"whose permission it is: powerbi or graph"`
		Permission string `json:"permission" doc:"name of a delegated permission, such as Report.Read.All"`
	}

	permissionOf struct {
		Application string `json:"application" doc:"which registration: app or scanner"`
		Permission  string `json:"permission" doc:"name of an application permission, such as Tenant.Read.All"`
	}
)

func (t *Tenant) setConsent(in consentTo, given bool) error {
	resource, ok := map[string]string{"powerbi": PowerBIAudience, "graph": GraphAudience}[strings.ToLower(in.Resource)]
	if !ok {
		return fmt.Errorf("resource is %q, and must be powerbi or graph", in.Resource)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return setName(t.consents, resource, in.Permission, given)
}

func (t *Tenant) setPermission(in permissionOf, given bool) error {
	client, ok := map[string]string{"app": AppID, "scanner": ScannerID}[strings.ToLower(in.Application)]
	if !ok {
		return fmt.Errorf("application is %q, and must be app or scanner", in.Application)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return setName(t.permissions, client, in.Permission, given)
}

// setName puts a name into one of the lists or takes it out. The lists themselves
// are never written to.
func setName(lists map[string][]string, key, name string, given bool) error {
	if name == "" || strings.ContainsAny(name, " \t\r\n/") {
		return fmt.Errorf("permission is %q, and must be a name such as Report.Read.All", name)
	}
	left := slices.DeleteFunc(slices.Clone(lists[key]), func(s string) bool { return s == name })
	if given {
		left = append(left, name)
	}
	lists[key] = left
	return nil
}
