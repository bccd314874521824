package cerbos

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/cerbos/cerbos-sdk-go/cerbos"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/deployment"
)

// Scope is asked in every question: policies of the deployment have it, and
// Cerbos falls back to the shipped ones at its root.
const Scope = deployment.Scope

const (
	// maxRequest is what Cerbos takes. Past it the client refuses by itself.
	maxRequest = 4 << 20

	// A plan over ten thousand ids takes Cerbos half a second on a busy machine.
	checkTimeout = 3 * time.Second
	planTimeout  = 6 * time.Second

	// tries counts attempts at a Cerbos that is not there. Slowness is not tried
	// again: that would only add to it.
	tries = 2

	defaultMemory = 64 << 20
)

// A Decider asks one Cerbos process. Make one with [New].
type Decider struct {
	client *cerbos.GRPCClient
	memory *memory
	link   *link
	socket string // its path, where Cerbos is reached by one
}

var _ policies.Decider = (*Decider)(nil)

type options struct {
	log    *slog.Logger
	memory int
}

// An Option changes how a [Decider] works.
type Option func(*options)

// WithLogger has the loss and the return of Cerbos written to log.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithMemory bounds what remembered answers may take, in bytes. The default is
// 64 MiB; zero remembers nothing.
func WithMemory(bytes int) Option { return func(o *options) { o.memory = bytes } }

// New returns a decider that asks the Cerbos process at target: the path of a
// Unix socket, or host:port. It does not wait for the process to be up; until it
// is, nothing is decided. Close stops it.
func New(target string, opts ...Option) (*Decider, error) {
	o := options{log: slog.New(slog.DiscardHandler), memory: defaultMemory}
	for _, set := range opts {
		set(&o)
	}
	if target == "" {
		return nil, fmt.Errorf("the address of Cerbos is empty")
	}
	if strings.HasPrefix(target, "/") {
		target = "unix:" + target
	}
	m := &memory{limit: o.memory}
	l := newLink(m, o.log)
	client, err := cerbos.New(target,
		cerbos.WithPlaintext(),
		// Without a timeout of its own, so that gRPC's ordinary pauses between
		// attempts apply; the SDK's option would set them to none at all.
		cerbos.WithConnectTimeout(0),
		cerbos.WithMaxRetries(tries),
		cerbos.WithRetryTimeout(planTimeout),
		cerbos.WithMaxSendMsgSizeBytes(maxRequest),
		cerbos.WithMaxRecvMsgSizeBytes(4*maxRequest), // a plan repeats the caller's lists
		cerbos.WithStatsHandler(l),
		cerbos.WithUnaryInterceptors(l.intercept, uncompressed),
	)
	if err != nil {
		return nil, fmt.Errorf("making the Cerbos client: %w", err)
	}
	// Questions are made here from typed values; validating them once more on
	// this side costs as much as the answer.
	d := &Decider{client: client.With(cerbos.AllowPartialRequests()), memory: m, link: l}
	d.socket, _ = strings.CutPrefix(target, "unix:")
	if d.socket == target {
		d.socket = ""
	}
	l.start(d.client)
	return d, nil
}

// Loaded returns when the Cerbos that answers now had read its policies, at the
// latest, and false while none answers. A socket is as old as the process that
// made it; of a Cerbos elsewhere it is known only since when this process has had
// its connection, which a change before that cannot be told from.
func (d *Decider) Loaded() (time.Time, bool) {
	since := d.link.since.Load()
	if !d.link.up() || since == nil {
		return time.Time{}, false
	}
	if d.socket != "" {
		if info, err := os.Stat(d.socket); err == nil && info.ModTime().Before(*since) {
			return info.ModTime(), true
		}
	}
	return *since, true
}

// Await returns once Cerbos answers, as after its start anew: nobody has to wait
// for the next attempt to reach it then.
func (d *Decider) Await(ctx context.Context) error {
	for {
		err := d.link.beat(ctx, d.client)
		if err == nil {
			return nil
		}
		if cc := d.link.conn.Load(); cc != nil {
			cc.ResetConnectBackoff()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// uncompressed undoes the SDK's gzip, which over a socket is nothing but work.
func uncompressed(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(ctx, method, req, reply, cc, append(opts, grpc.UseCompressor("identity"))...)
}

// Close ends the connection and waits for what this package started.
func (d *Decider) Close() error { return d.link.stop() }

// Allowed implements [policies.Decider].
func (d *Decider) Allowed(ctx context.Context, p *policies.Principal, a policies.Action, r policies.Resource) (bool, error) {
	if len(p.Roles) == 0 {
		return false, nil // Cerbos takes no principal without a role, and no rule would match one
	}
	q, err := checkQuestion(a, r)
	if err != nil {
		return false, noDecision(a, r.Kind, err)
	}
	defer q.free()
	if d.link.up() {
		if found, ok := d.memory.recall(p, q.key); ok {
			return found.allowed, nil
		}
	}
	if tooLarge(p, q) {
		return false, fmt.Errorf("asking Cerbos for %s on %s: %w", a, r.Kind, policies.ErrTooLarge)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	since := d.memory.generation()
	allowed, err := d.client.IsAllowed(ctx, principal(p), resource(r), string(a))
	if err != nil {
		return false, noDecision(a, r.Kind, err)
	}
	d.memory.remember(since, p, q.key, answer{allowed: allowed})
	return allowed, nil
}

// Plan implements [policies.Decider].
func (d *Decider) Plan(ctx context.Context, p *policies.Principal, a policies.Action, kind policies.Kind) (policies.Plan, error) {
	if len(p.Roles) == 0 {
		return policies.Plan{}, nil
	}
	q := planQuestion(a, kind)
	defer q.free()
	if d.link.up() {
		if found, ok := d.memory.recall(p, q.key); ok {
			return found.plan, nil
		}
	}
	if tooLarge(p, q) {
		return policies.Plan{}, fmt.Errorf("asking Cerbos for %s on %s: %w", a, kind, policies.ErrTooLarge)
	}
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	since := d.memory.generation()
	response, err := d.client.PlanResources(ctx, principal(p), resource(policies.Resource{Kind: kind}), string(a))
	if err != nil {
		return policies.Plan{}, noDecision(a, kind, err)
	}
	plan, err := readPlan(response.GetFilter())
	if err != nil {
		return policies.Plan{}, noDecision(a, kind, err)
	}
	d.memory.remember(since, p, q.key, answer{plan: plan})
	return plan, nil
}

// tooLarge reports whether the question is more than Cerbos takes, before it is
// turned into a message that nobody would send.
func tooLarge(p *policies.Principal, q *question) bool {
	const (
		beside = 4    // bytes of the message beside each id
		frame  = 1024 // names of attributes, roles and the like
	)
	size := frame + len(q.key)
	for _, list := range [][]string{p.WorkspaceIDs, p.AppIDs, p.DatasetIDs} {
		for _, id := range list {
			size += len(id) + beside
		}
	}
	return size > maxRequest
}

func noDecision(a policies.Action, k policies.Kind, err error) error {
	kind := policies.ErrUnavailable
	if s, ok := status.FromError(err); ok && s.Code() == codes.ResourceExhausted {
		kind = policies.ErrTooLarge
	}
	return fmt.Errorf("asking Cerbos for %s on %s: %w: %w", a, k, kind, err)
}
