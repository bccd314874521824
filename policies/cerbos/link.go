package cerbos

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cerbos/cerbos-sdk-go/cerbos"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/stats"
)

const (
	beatEvery   = time.Second
	retryEvery  = 250 * time.Millisecond
	beatTimeout = 3 * time.Second // long enough that a busy Cerbos does not pass for a lost one
)

// A link watches the connection to Cerbos. Whenever one breaks or a new one
// stands, the memory is emptied; a beat every second finds out what no broken
// connection tells, such as a network that swallows everything, and brings the
// connection back after a loss.
type link struct {
	memory *memory
	log    *slog.Logger
	conn   atomic.Pointer[grpc.ClientConn]
	since  atomic.Pointer[time.Time] // when the last connection began

	cancel  context.CancelFunc
	running sync.WaitGroup
}

func newLink(m *memory, log *slog.Logger) *link {
	return &link{memory: m, log: log, cancel: func() {}}
}

// up reports whether the connection that remembered answers came over stands.
func (l *link) up() bool {
	cc := l.conn.Load()
	return cc != nil && cc.GetState() == connectivity.Ready
}

// intercept learns the connection, which the SDK keeps to itself.
func (l *link) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	l.conn.Store(cc)
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (l *link) start(client *cerbos.GRPCClient) {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	l.running.Go(func() {
		lost := false
		for {
			wait := beatEvery
			err := l.beat(ctx, client)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				l.memory.forget()
				wait = retryEvery
				if cc := l.conn.Load(); cc != nil {
					cc.ResetConnectBackoff()
				}
				if !lost {
					l.log.Error("Cerbos does not answer; nothing is decided until it does", "error", err)
				}
			case lost:
				l.log.Info("Cerbos answers again")
			}
			lost = err != nil
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	})
}

func (l *link) beat(ctx context.Context, client *cerbos.GRPCClient) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	_, err := client.ServerInfo(ctx)
	return err
}

func (l *link) stop() error {
	l.cancel()
	l.running.Wait()
	if cc := l.conn.Swap(nil); cc != nil {
		return cc.Close()
	}
	return nil
}

// HandleConn implements [stats.Handler]: it hears of every connection that begins
// or ends, before and after any answer came over it.
func (l *link) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		now := time.Now()
		l.since.Store(&now)
		l.memory.forget()
	case *stats.ConnEnd:
		l.memory.forget()
	}
}

// TagConn implements [stats.Handler].
func (l *link) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// TagRPC implements [stats.Handler].
func (l *link) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements [stats.Handler].
func (l *link) HandleRPC(context.Context, stats.RPCStats) {}
