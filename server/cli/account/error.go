package account

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotSignedIn is returned where a command needs somebody to be signed in.
var ErrNotSignedIn = errors.New("you are not signed in")

// An AddressError is an address that no deployment has.
type AddressError struct{ Sentence string }

func (e *AddressError) Error() string { return e.Sentence }

// A Problem is an answer of a deployment that reports failure (RFC 9457).
type Problem struct {
	Status    int      `json:"status"`
	Title     string   `json:"title"`
	Detail    string   `json:"detail"`
	Kind      string   `json:"kind"`
	Next      string   `json:"next"`
	Names     []string `json:"names"`
	Upstream  string   `json:"power_bi_says"`
	RequestID string   `json:"request_id"`
}

// Error is one sentence, what Power BI says, what to do next with the names that
// help, and the request id.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Detail)
	if p.Upstream != "" {
		fmt.Fprintf(&b, "\nPower BI says: %s", p.Upstream)
	}
	if p.Next != "" {
		b.WriteString("\n" + p.Next)
	}
	var names []string // that neither sentence has
	for _, name := range p.Names {
		if !strings.Contains(p.Detail+p.Next, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		b.WriteString("\nnames: " + strings.Join(names, ", "))
	}
	if p.RequestID != "" {
		b.WriteString("\nrequest " + p.RequestID)
	}
	return b.String()
}

// An UnreachableError is a deployment that did not answer.
type UnreachableError struct {
	URL   string
	Cause error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s did not answer: %v\nCheck the address and your network, then try again.", e.URL, e.Cause)
}

func (e *UnreachableError) Unwrap() error { return e.Cause }
