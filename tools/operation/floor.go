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
	// SVC: a service account is never an admin, whatever its roles.
	if p.Kind == policies.ServiceAccount && d.Kind == policies.KindAdmin {
		return &Error{Kind: Forbidden, Sentence: "A service account is never an admin.", Next: "Do this as a person."}
	}
	return nil
}
