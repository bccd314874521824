package protocol

import (
	"net/http"
	"time"
)

// An Access says whom a route answers.
type Access int

const (
	Anyone      Access = iota // on the public-paths list
	WithSession               // a browser session, whether a role reaches its person or not
	WithRole                  // a browser session whose person a role reaches
)

// A Limit is how often one client address may call a route.
type Limit struct {
	Rule string // its name in request_rate
	Max  int
	Per  time.Duration
}

// A Route is one endpoint, for the gate to list, limit and guard. Handlers of
// [WithSession] and [WithRole] check their session themselves as well.
type Route struct {
	Method    string
	Path      string
	Access    Access
	AnyOrigin bool // exempt from the origin check, since it reads no cookie (NET-16, NET-17)
	Limit     Limit
	Handler   http.HandlerFunc
}

// PerMinute is a limit by client address in each minute.
func PerMinute(rule string, most int) Limit {
	return Limit{Rule: rule, Max: most, Per: time.Minute}
}

// AuthLimit is the limit of paths below /api/auth that have no limit of their
// own (NET-26).
var AuthLimit = PerMinute("auth", 100)
