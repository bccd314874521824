package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/server/cli/command"
	"github.com/pbmb/pbmb/server/cli/people"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/demo"
	"github.com/pbmb/pbmb/sync/sample"
)

// newSample is the sample tenant by itself: serving it, asking it, changing it.
func newSample(p *people.CLI) *cobra.Command {
	parent := &cobra.Command{
		Use: "sample", Short: "The sample tenant by itself: a stand-in for Entra, Graph and Power BI", Args: noArgs,
		Long: `An invented company behind the APIs of Microsoft Entra, Microsoft Graph and the
Power BI REST API, to develop and test against. It needs nothing else of pbmb.

"pbmb sample serve" runs it. "query", "datasets", "people" and "token" ask one that
runs at --url; without --url, query, datasets and people load the company by
themselves. The others change one that runs, at ` + defaultSampleURL + ` unless --url
says otherwise.`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	parent.AddCommand(newSampleServe(p.Out, p.ErrOut), newSampleQuery(p), newSampleDatasets(p), newSamplePeople(p), newSampleToken(p))
	addSampleChanges(parent, p.In)
	return parent
}

// A sampleServer is `pbmb sample serve` as it is asked for.
type sampleServer struct {
	listen, publicURL string
	verbose           bool
	sample.Config
}

func newSampleServe(out, errOut io.Writer) *cobra.Command {
	var s sampleServer
	c := &cobra.Command{
		Use: "serve", Short: "Serve the stand-in for Entra, Graph and Power BI", Args: noArgs,
		Long: `Serves until it is stopped. What takes the place of the three hosts:

  https://login.microsoftonline.com     ` + defaultSampleURL + sample.LoginPath + `
  https://graph.microsoft.com           ` + defaultSampleURL + sample.GraphPath + `
  https://api.powerbi.com               ` + defaultSampleURL + sample.PowerBIPath + `

Audiences and scopes keep their names. The addresses, client ids and people are
printed at the start; nothing of them is secret, and there are no passwords.

A token without the pages of a sign-in, the ids of the datasets, and a query:

  TOKEN=$(pbmb sample token viewer@sample.example)
  pbmb sample datasets --url ` + defaultSampleURL + ` -o tsv
  curl -s -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \
    ` + defaultSampleURL + sample.PowerBIPath + `/v1.0/myorg/datasets/ee96d352-40b6-567a-b836-899b1d0b2508/executeQueries \
    -d '{"queries": [{"query": "EVALUATE { [Net sales] }"}]}'

A service principal that may read the admin API (scans, apps, activities):

  curl -s ` + defaultSampleURL + sample.LoginPath + `/` + sample.TenantID + `/oauth2/v2.0/token \
    -d grant_type=client_credentials -d client_id=` + sample.ScannerID + ` \
    -d client_secret=` + sample.ScannerSecret + ` -d scope=` + sample.PowerBIAudience + `/.default

It listens on this machine alone unless --listen says otherwise. Whoever reaches it
may be anybody of the company, which is what it is for: give it no real data.`,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c, out, errOut) },
	}
	flags := c.Flags()
	flags.StringVar(&s.listen, "listen", demo.DefaultSampleListen, "host and port; port 0 takes a free one")
	flags.StringVar(&s.publicURL, "public-url", "", "address under which clients reach it (default that of --listen)")
	flags.StringArrayVar(&s.Models, "model", nil, "a .bim file or TMDL folder to add; repeatable")
	flags.StringArrayVar(&s.RedirectURIs, "redirect-uri", nil, "reply address of the app registration, compared exactly; repeatable (default any http address on this machine)")
	flags.IntVar(&s.Workspaces, "workspaces", 0, "by how many made-up workspaces the tenant grows")
	flags.Uint64Var(&s.Seed, "seed", 0, "number that the made-up workspaces are made from: the same gives the same")
	flags.DurationVar(&s.ScanTime, "scan-time", 0, "how long a scan of the admin API runs, such as 30s")
	flags.DurationVar(&s.PermissionDelay, "permission-delay", 0, "how long a change of who may do what takes to count, such as 15m")
	flags.BoolVar(&s.Unlimited, "unlimited", false, "without Power BI's limits on calls")
	flags.BoolVar(&s.verbose, "verbose", false, "log every request")
	return c
}

func (s *sampleServer) run(c *cobra.Command, out, errOut io.Writer) error {
	if u, err := url.Parse(s.publicURL); s.publicURL != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
		return &command.UsageError{Err: fmt.Errorf("--public-url is %q, and must be a scheme and a host, such as https://tenant.example", s.publicURL)}
	}
	if s.ScanTime < 0 || s.PermissionDelay < 0 {
		return &command.UsageError{Err: errors.New("--scan-time and --permission-delay must not be less than 0")}
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w\nSay with --listen where else, such as 127.0.0.1:0, which takes a free port.", s.listen, err)
	}
	defer listener.Close()
	s.URL = strings.TrimSuffix(cmp.Or(s.publicURL, "http://"+listener.Addr().String()), "/")
	s.Log = newLog(errOut, config.Development)
	tenant, err := sample.New(s.Config)
	if err != nil {
		return err
	}
	announce(out, s.URL, tenant)
	handler := tenant.Handler()
	if s.verbose {
		handler = logged(handler, s.Log)
	}
	return demo.ServeUntilDone(c.Context(), listener, handler)
}

// announce says how the tenant is reached, by whom, and what of the added models
// it cannot evaluate.
func announce(out io.Writer, address string, tenant *sample.Tenant) {
	fmt.Fprintf(out, `sample tenant %[2]s at %[1]s

  sign-in     %[1]s%[3]s/%[2]s/v2.0
  Graph       %[1]s%[4]s/v1.0
  Power BI    %[1]s%[5]s/v1.0/myorg
  Google      %[1]s%[6]s
  OpenID      %[1]s%[7]s
  embeddings  %[1]s%[16]s   key %[17]s
  reports     %[1]s%[18]s   to look at in a browser

  client      id                                     secret
  people      %-36[8]s   %[9]s
  scanner     %-36[10]s   %[11]s
  Google      %-36[12]s   %[13]s
  OpenID      %-36[14]s   %[15]s

`, address, sample.TenantID, sample.LoginPath, sample.GraphPath, sample.PowerBIPath, sample.GooglePath, sample.OpenIDPath,
		sample.AppID, sample.AppSecret, sample.ScannerID, sample.ScannerSecret,
		sample.GoogleClientID, sample.GoogleClientSecret, sample.OpenIDClientID, sample.OpenIDClientSecret, sample.OpenAIPath+"/v1", sample.EmbeddingsKey, sample.HomePath)
	for _, p := range tenant.People() {
		state := ""
		switch {
		case p.Disabled:
			state = " (disabled)"
		case p.Guest:
			state = " (guest)"
		}
		fmt.Fprintf(out, "  %-26s %s, %s%s\n", p.Email, p.Name, p.Title, state)
	}
	if notes := tenant.Notes(); len(notes) > 0 {
		fmt.Fprintf(out, "\nnot evaluated:\n  %s\n", strings.Join(notes, "\n  "))
	}
	fmt.Fprintf(out, "\nTry: pbmb sample query Sales 'EVALUATE { [Net sales] }' --as viewer@sample.example --url %s\nPress Ctrl+C to stop it.\n", address)
}
