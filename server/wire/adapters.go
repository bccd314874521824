package wire

import (
	"context"
	"net/url"
	"time"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

func isHTTPS(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https"
}

// ready asks for any decision: what it is does not matter.
func ready(ctx context.Context, d policies.Decider) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := d.Allowed(ctx, &policies.Principal{Kind: policies.System, ID: "readyz", Roles: []string{policies.RoleViewer}}, policies.Read, policies.Book)
	return err
}

// auditor keeps the guard's refusals.
type auditor struct{ writer *audit.Writer }

func (a auditor) Refused(ctx context.Context, p *policies.Principal, r operation.Refusal) error {
	return a.writer.Write(ctx, p, audit.Event{
		Action: r.Operation, Outcome: audit.Deny, Element: r.Element, Reason: string(r.Kind), Detail: r.Detail,
	})
}
