// Package demo runs the whole product on one machine: a private PostgreSQL and
// Cerbos as child processes, and the sample tenant, the api and the worker in
// this one. What it starts it also stops.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/policies/deployment"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/demo/control"
	deploymentfolder "github.com/pbmb/pbmb/server/folder"
	"github.com/pbmb/pbmb/sync/sample"
)

// Options are the flags of `pbmb demo`.
type Options struct {
	Data         string   // folder of everything that is kept; see [DefaultData]
	Listen       string   // host and port of the api
	SampleListen string   // host and port of the sample tenant
	Models       []string // further semantic models, as paths of TMDL folders and .bim files
	ReadyFile    string   // where to write how to reach it, once it is ready; "" for nowhere

	Getenv func(string) string // the environment; os.Getenv where nil
	Out    io.Writer           // takes what a person should read
	Log    *slog.Logger
}

// The addresses that `pbmb demo` listens on unless it is told otherwise.
const (
	DefaultListen       = "127.0.0.1:8080"
	DefaultSampleListen = "127.0.0.1:8090"
)

// A Service is a part that runs inside this process until its context ends.
type Service interface {
	Run(context.Context) error
}

// Parts are the product's own processes, which package wire builds. Each is
// called once, in this order, with everything that it stands on running.
type Parts struct {
	// Setup makes a migrated database a working deployment of the sample tenant
	// on the first start, and finds it so on every later one.
	Setup func(context.Context, config.Config, *sample.Tenant) error

	// API builds the api, which serves on the listener.
	API func(context.Context, config.Config, net.Listener) (Service, error)

	// Worker builds the worker.
	Worker func(context.Context, config.Config) (Service, error)

	// Fill is called when everything runs, and returns when there is something to
	// see: accounts are connected and the first sync is done. It returns the
	// people to tell of.
	Fill func(context.Context, config.Config, *sample.Tenant) ([]Person, error)
}

// A Person is somebody of the sample company whom one can sign in as.
type Person struct {
	Email string   `json:"email"`
	Roles []string `json:"roles"`
}

// How long the product's own processes may take to finish what they do.
const stopTimeout = 25 * time.Second

// Run runs the demo until ctx ends, which is not an error, or until a part of
// it fails for good.
func Run(ctx context.Context, o Options, parts Parts) (err error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	apiListener, err := listen("--listen", o.Listen)
	if err != nil {
		return err
	}
	defer apiListener.Close()
	sampleListener, err := listen("--sample-listen", o.SampleListen)
	if err != nil {
		return err
	}
	defer sampleListener.Close()
	data, err := openFolder(o.Data)
	if err != nil {
		return err
	}
	defer data.close()

	if _, err := deploymentfolder.InitAccess(data.path); err != nil {
		return err
	}
	c, err := configure(o, data, apiListener, sampleListener)
	if err != nil {
		return err
	}
	programs := &programs{log: o.Log, data: data}
	defer programs.stop()
	defer func() {
		if o.ReadyFile != "" {
			os.Remove(o.ReadyFile) // where it is missing there is nothing to take back
		}
	}()

	// Everything that fails from here on ends ctx with its cause.
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	programs.fail = fail

	tenant, err := startPrograms(ctx, o, &c, programs, sampleURL(sampleListener))
	if err != nil {
		return unlessStopped(ctx, err)
	}
	stopTenant := serve(sampleListener, tenant.Handler(), fail)
	defer stopTenant()

	services := newServices(fail)
	defer services.stop()
	api, err := startServices(ctx, c, parts, services, apiListener, tenant)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	stopControl, err := control.Serve(filepath.Join(data.runtime, controlSocket), func(ctx context.Context) error {
		if err := programs.restartCerbos(ctx); err != nil {
			return err
		}
		if api, ok := api.(interface{ AwaitDecisions(context.Context) error }); ok {
			return api.AwaitDecisions(ctx)
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer stopControl()
	people, err := parts.Fill(ctx, c, tenant)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	if err := announce(o, c, people, tenant.Notes()); err != nil {
		return err
	}
	<-ctx.Done()
	return unlessStopped(ctx, nil)
}

// unlessStopped is the error to report: that of the part that failed first, and
// none where somebody just ended the demo.
func unlessStopped(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return err
	case errors.Is(cause, context.Canceled):
		return nil
	default:
		return cause
	}
}

// startPrograms starts the database and Cerbos, unless the environment names
// running ones, and loads the tenant meanwhile. It writes into c where they are.
func startPrograms(ctx context.Context, o Options, c *config.Config, programs *programs, sampleURL string) (*sample.Tenant, error) {
	var tenant *sample.Tenant
	group, starting := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		tenant, err = sample.New(sample.Config{URL: sampleURL, NeededOnly: true, Models: o.Models, Log: o.Log})
		return err
	})
	group.Go(func() error {
		if c.CerbosAddress != "" {
			return nil
		}
		address, err := programs.startCerbos(starting, o.Getenv)
		c.CerbosAddress = address
		return err
	})
	migrator := o.Getenv("DATABASE_URL_MIGRATOR")
	group.Go(func() error {
		if c.DatabaseAPI == "" {
			database, err := programs.startPostgres(starting)
			if err != nil {
				return err
			}
			if err := postgres.Bootstrap(starting, database.SuperuserURL(), databaseName); err != nil {
				return err
			}
			migrator = database.URL(string(postgres.Migrator), databaseName)
			c.DatabaseAPI = database.URL(string(postgres.API), databaseName)
			c.DatabaseWorker = database.URL(string(postgres.Worker), databaseName)
		}
		return postgres.Migrate(starting, migrator)
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return tenant, programs.data.writeEnv(*c, migrator)
}

func startServices(ctx context.Context, c config.Config, parts Parts, services *services, l net.Listener, tenant *sample.Tenant) (api Service, err error) {
	if err := parts.Setup(ctx, c, tenant); err != nil {
		return nil, err
	}
	api, err = parts.API(ctx, c, l)
	if err != nil {
		return nil, fmt.Errorf("starting the api: %w", err)
	}
	services.start("api", api)
	worker, err := parts.Worker(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("starting the worker: %w", err)
	}
	services.start("worker", worker)
	return api, nil
}

const databaseName = "pbmb"

// configure is the configuration of the api and the worker. The addresses of
// the database and of Cerbos are empty where the demo is to start its own.
func configure(o Options, data *folder, api, sampleTenant net.Listener) (config.Config, error) {
	c := config.Config{
		Environment:     config.Development,
		Listen:          api.Addr().String(),
		PublicBaseURL:   apiURL(api),
		Deployment:      "pbmb demo",
		IdentityFolder:  filepath.Join(data.path, "identity"),
		DatabaseAPI:     o.Getenv("DATABASE_URL_API"),
		DatabaseWorker:  o.Getenv("DATABASE_URL_WORKER"),
		CerbosAddress:   o.Getenv("CERBOS_ADDRESS"),
		PoliciesFolder:  filepath.Join(data.path, filepath.FromSlash(deployment.PolicyFolder)),
		TenantID:        sample.TenantID,
		Authority:       sampleURL(sampleTenant) + sample.LoginPath,
		GraphURL:        sampleURL(sampleTenant) + sample.GraphPath + "/v1.0",
		APIURL:          sampleURL(sampleTenant) + sample.PowerBIPath + "/v1.0/myorg",
		ClientID:        sample.AppID,
		GoogleIssuer:    sampleURL(sampleTenant) + sample.GooglePath,
		ScannerClientID: sample.ScannerID,
		AllowDevSignIn:  true,
		ClientDocuments: o.Getenv("CLIENT_METADATA_DOCUMENTS"),
		TrustedProxy:    o.Getenv("TRUSTED_PROXY"),
	}
	set := 0
	for _, name := range []string{"DATABASE_URL_API", "DATABASE_URL_WORKER", "DATABASE_URL_MIGRATOR"} {
		if o.Getenv(name) != "" {
			set++
		}
	}
	if set != 0 && set != 3 {
		return c, errors.New("set all of DATABASE_URL_MIGRATOR, DATABASE_URL_API and DATABASE_URL_WORKER, or none for a private PostgreSQL")
	}
	var err error
	c.AuthSecret, err = data.secret("auth-secret")
	return c, err
}

// listen opens a port on this machine alone: whoever reaches the demo can sign
// in as anybody.
func listen(flag, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%s %q is not a host and a port, such as 127.0.0.1:8080", flag, address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%s %s: the demo lets everybody in who reaches it, so it listens on 127.0.0.1, ::1 or localhost only", flag, address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s %s cannot be listened on (%w): is something else running there? Choose another port with %s", flag, address, cause(err), flag)
	}
	return l, nil
}

// cause is what the system said, without the operation around it.
func cause(err error) error {
	if syscallErr, ok := errors.AsType[*os.SyscallError](err); ok {
		return syscallErr.Err
	}
	return err
}

// apiURL has the host localhost whatever loopback address is listened on:
// passkeys need a name.
func apiURL(l net.Listener) string {
	return fmt.Sprintf("http://localhost:%d", l.Addr().(*net.TCPAddr).Port)
}

// sampleURL has the address for a host, so that a browser keeps the tenant's
// cookies apart from ours: cookies do not tell ports apart.
func sampleURL(l net.Listener) string { return "http://" + l.Addr().String() }

// serve serves the tenant until the returned function is called.
func serve(l net.Listener, h http.Handler, fail context.CancelCauseFunc) (stop func()) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("serving the sample tenant: %w", err))
		}
	}()
	return func() {
		server.Close() // nobody is left to ask it anything
		<-done
	}
}

// services are the running api and worker.
type services struct {
	ctx    context.Context
	cancel context.CancelFunc
	fail   context.CancelCauseFunc
	group  errgroup.Group
}

// newServices makes an empty set. Its services do not end with the demo's
// context but when they are stopped, before what they stand on is.
func newServices(fail context.CancelCauseFunc) *services {
	ctx, cancel := context.WithCancel(context.Background())
	return &services{ctx: ctx, cancel: cancel, fail: fail}
}

func (s *services) start(name string, service Service) {
	s.group.Go(func() error {
		err := service.Run(s.ctx)
		if s.ctx.Err() == nil {
			s.fail(fmt.Errorf("the %s ended: %w", name, errors.Join(err, errUnexpected)))
		}
		return err
	})
}

var errUnexpected = errors.New("it should run until it is stopped")

// stop ends the services and waits for them, though not for ever.
func (s *services) stop() {
	s.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.group.Wait() // whoever stops does not ask how they ended
	}()
	select {
	case <-done:
	case <-time.After(stopTimeout):
	}
}

// ServeUntilDone serves h until ctx ends.
func ServeUntilDone(ctx context.Context, l net.Listener, h http.Handler) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stop := serve(l, h, fail)
	defer stop()
	<-ctx.Done()
	return unlessStopped(ctx, nil)
}
