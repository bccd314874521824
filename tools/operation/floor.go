package operation

import "github.com/pbmb/pbmb/policies"

// floor has the rules that no policy widens. They are asked before any policy is.
func floor(d *Def, p *policies.Principal) error {
	// NET-02: nothing is done for nobody.
	if p == nil || p.ID == "" {
		return &Error{Kind: Unauthenticated, Sentence: "You are not signed in.", Next: "Sign in first."}
	}
	// SIGNIN-04: a person whom no role reaches has no way in.
	if len(p.Roles) == 0 {
		return &Error{Kind: Forbidden, Sentence: "No role reaches you here.", Next: "Ask an admin for one."}
	}
	// MCP-10: the connector serves its own list alone.
	if p.Via == policies.ViaConnector && d.Surfaces&Connector == 0 {
		return &Error{Kind: NotFound, Sentence: "There is no such tool.", Next: "tools/list has them all."}
	}
	if d.Surfaces&(Connector|API) == 0 && p.Via != policies.ViaBrowser {
		return &Error{Kind: Forbidden, Sentence: "This is done in the browser alone.", Next: "Open it there."}
	}
	if p.Kind == policies.ServiceAccount {
		return accountFloor(d)
	}
	return nil
}

// accountFloor has what a service account never does, whoever holds its key and
// whatever its roles. That it stays within its workspaces and apps (SVC-13) is part
// of its view, and that it reads no personal data (PII-62) too.
func accountFloor(d *Def) error {
	refuse := func(sentence string) error {
		return &Error{Kind: Forbidden, Sentence: sentence, Next: "Do this as a person."}
	}
	switch {
	// SVC-16, SVC-17: reading the status is all that it can be lent of administration,
	// so that a key makes no keys and widens nothing.
	case d.Kind == policies.KindAdmin && d.Action != policies.ReadStatus:
		return refuse("A service account is never an admin.")
	// SVC-15
	case d.Action == policies.EditConventions:
		return refuse("A service account never changes the conventions.")
	// AUTHZ-15
	case d.Action == policies.Approve:
		return refuse("A service account never approves.")
	// SVC-18: of its own account it can ask who it is, and no more.
	case d.question == askNothing && d.Name != "whoami":
		return refuse("A service account has no clients of its own and no Power BI connection.")
	}
	return nil
}
