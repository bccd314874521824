package device

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

// Paths of the endpoints, and of the screen on which a code is typed.
const (
	AuthorizationPath = "/api/auth/oauth2/device_authorization"
	AnswerPath        = "/api/v1/oauth/device"
	ScreenPath        = "/device"
)

// Life is how long both codes live.
const Life = 10 * time.Minute

// A Store keeps the requests; see [store.Store].
type Store interface {
	Client(ctx context.Context, id string) (*store.Client, error)
	StartDevice(ctx context.Context, digest, userDigest []byte, d *store.DeviceRequest) error
	OpenDevice(ctx context.Context, userDigest []byte, at time.Time) (*store.DeviceRequest, error)
	AnswerDevice(ctx context.Context, by *policies.Principal, userDigest []byte, allow bool, at time.Time) error
}

// Sessions resolves a request by its browser session alone; see [authn.Authn].
type Sessions interface {
	Session(r *http.Request) (*policies.Principal, error)
}

// A Limiter counts what one client address does.
type Limiter interface {
	Count(ctx context.Context, rule, subject string, most int, per time.Duration) (ok bool, retry time.Duration, err error)
}

// Config is what the endpoints stand on.
type Config struct {
	Site       protocol.Site
	Store      Store
	Sessions   Sessions
	Limits     Limiter
	Address    func(context.Context) string // the client's, of the request of a context
	AuthSecret []byte
	Now        func() time.Time
	Log        *slog.Logger
}

// Handler serves the device flow.
type Handler struct {
	Config
	codes *userCodes
}

// New returns the endpoints.
func New(cfg Config) (*Handler, error) {
	codes, err := newUserCodes(cfg.AuthSecret)
	if err != nil {
		return nil, err
	}
	return &Handler{Config: cfg, codes: codes}, nil
}

// Routes lists them. Allowing and denying share a route and are counted apart, so
// the handler counts them; the route's own limit is what all requests share.
func (h *Handler) Routes() []protocol.Route {
	return []protocol.Route{
		{
			Method: http.MethodPost, Path: AuthorizationPath, Access: protocol.Anyone, AnyOrigin: true,
			Limit: protocol.PerMinute("device_authorization", 10), Handler: h.authorize,
		},
		{
			Method: http.MethodGet, Path: AnswerPath, Access: protocol.WithRole,
			Limit: protocol.Limit{Rule: "device_look_up", Max: tries, Per: tryWindow}, Handler: h.show,
		},
		{Method: http.MethodPost, Path: AnswerPath, Access: protocol.WithRole, Limit: protocol.AuthLimit, Handler: h.answer},
	}
}
