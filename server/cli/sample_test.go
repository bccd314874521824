package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/server/cli"
	"github.com/pbmb/pbmb/sync/sample"
)

// A run is what a command line did.
type run struct {
	code     int
	out, err string
}

func pbmb(t *testing.T, in string, args ...string) run {
	t.Helper()
	var out, errOut bytes.Buffer
	code := cli.Main(t.Context(), args, strings.NewReader(in), &out, &errOut)
	return run{code, out.String(), errOut.String()}
}

// serveSample runs `pbmb sample serve` until the test ends, and returns its
// address and what it said.
func serveSample(t *testing.T, args ...string) (url, said string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	done := make(chan int, 1)
	var errOut bytes.Buffer
	go func() {
		done <- cli.Main(ctx, append([]string{"sample", "serve", "--listen", "127.0.0.1:0"}, args...), strings.NewReader(""), writer, &errOut)
		writer.Close()
	}()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != 0 {
			t.Errorf("serving ended with %d: %s", code, errOut.String())
		}
	})
	lines := bufio.NewScanner(reader)
	var all []string
	for lines.Scan() {
		all = append(all, lines.Text())
		if _, rest, found := strings.Cut(lines.Text(), " --url "); found {
			go io.Copy(io.Discard, reader)
			return rest, strings.Join(all, "\n")
		}
	}
	t.Fatalf("it never said where it is: %q %s", all, errOut.String())
	return "", ""
}

// SAMPLE-01, SAMPLE-12: what a stranger needs is said at the start.
func TestSampleServeSaysHowToReachIt(t *testing.T) {
	dir := t.TempDir()
	model := `{"name":"Tiny","model":{"tables":[{"name":"T","columns":[{"name":"A","dataType":"int64"}],"measures":[{"name":"Odd","expression":"NOSUCHFUNCTION()"}]}]}}`
	if err := os.WriteFile(filepath.Join(dir, "tiny.bim"), []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	url, said := serveSample(t, "--model", filepath.Join(dir, "tiny.bim"), "--unlimited")
	for _, part := range []string{
		url + "/login/" + sample.TenantID + "/v2.0", url + "/graph/v1.0", url + "/powerbi/v1.0/myorg",
		sample.AppID, sample.AppSecret, sample.ScannerID, sample.ScannerSecret, "viewer@sample.example", "former@sample.example", "(disabled)",
		"not evaluated:\n  tiny: measure T[Odd]", "NOSUCHFUNCTION",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("it does not say %q:\n%s", part, said)
		}
	}
	token := pbmb(t, "", "sample", "token", "viewer@sample.example", "--url", url)
	if token.code != 0 {
		t.Fatal(token.err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/powerbi/v1.0/myorg/apps", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token.out))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); res.StatusCode != 200 || !strings.Contains(string(body), "Tarnwick sales") {
		t.Errorf("the token is answered %s %s", res.Status, body)
	}
}

// SAMPLE-05, SAMPLE-06, CLI-08: a query without a server and at a running one, as
// different people.
func TestSampleQuery(t *testing.T) {
	url, _ := serveSample(t)
	const regions = "EVALUATE VALUES ( Region[Region] ) ORDER BY Region[Region]"
	for name, c := range map[string]struct {
		in   string
		args []string
		code int
		out  string
		says string
	}{
		"one number":               {"", []string{"Sales", `EVALUATE { CALCULATE ( COUNTROWS ( Sales ) ) }`}, 0, "[Value]\n144021\n", ""},
		"rows that security left":  {"", []string{"Regional sales", regions, "--as", "grace@sample.example"}, 0, "Region[Region]\nNorth\nSouth\n", ""},
		"a guest":                  {"", []string{"Regional sales", regions, "--as", "noor@partner.example"}, 0, "Region[Region]\nNordic\n", ""},
		"as CSV":                   {"", []string{"Regional sales", regions, "--as", "grace@sample.example", "-o", "csv"}, 0, "Region[Region]\nNorth\nSouth\n", ""},
		"from standard input":      {"EVALUATE { 2 + 3 }", []string{"Sales", "-"}, 0, "[Value]\n5\n", ""},
		"no rows":                  {"", []string{"Sales", "EVALUATE FILTER ( Store, FALSE )"}, 0, "\n", "no rows"},
		"somebody with no role":    {"", []string{"Regional sales", regions, "--as", "steward@sample.example"}, 1, "", "Failed to execute the DAX query"},
		"a mistake":                {"", []string{"Sales", "EVALUATE { [Nope] }"}, 1, "", "'Nope' cannot be determined"},
		"who may not":              {"", []string{"Sales", "EVALUATE { 1 }", "--as", "outsider@sample.example"}, 1, "", "outsider@sample.example may not query Sales"},
		"an unknown dataset":       {"", []string{"Nope", "EVALUATE { 1 }"}, 4, "", "pbmb sample datasets"},
		"an unknown person":        {"", []string{"Sales", "EVALUATE { 1 }", "--as", "nobody"}, 4, "", `person "nobody"`},
		"the way to who there is":  {"", []string{"Sales", "EVALUATE { 1 }", "--as", "nobody"}, 4, "", "pbmb sample people lists them"},
		"where a mistake is":       {"", []string{"Sales", "EVALUATE {\n  \"ü\", [Nope] }"}, 1, "", "pbmb:     \"ü\", [Nope] }\npbmb:          ^\n"},
		"what is no query":         {"", []string{"Sales", "[Net sales]"}, 1, "", "pbmb:   [Net sales]\npbmb:   ^^^^^^^^^^^\npbmb: Expected DEFINE or EVALUATE.\n"},
		"what ends too early":      {"", []string{"Sales", "EVALUATE"}, 1, "", "unexpected end of the text"},
		"an empty query":           {" \n", []string{"Sales", "-"}, 2, "", "EVALUATE { [Net sales] }"},
		"the way into a role":      {"", []string{"Regional sales", regions, "--as", "steward@sample.example"}, 1, "", "pbmb sample role assign"},
		"an unknown form":          {"", []string{"Sales", "EVALUATE { 1 }", "-o", "xml"}, 2, "", "must be one of"},
		"no query":                 {"", []string{"Sales"}, 2, "", "<dax> is missing"},
		"a query without quotes":   {"", []string{"Sales", "EVALUATE", "{ 1 }"}, 2, "", "one argument too many"},
		"nobody":                   {"", []string{"Sales", "EVALUATE { 1 }", "--as", ""}, 2, "", "pbmb sample people"},
		"a model at a running one": {"", []string{"Sales", "EVALUATE { 1 }", "--model", "x.bim", "--url", "http://127.0.0.1:1"}, 2, "", "--model"},
		"nobody at the address":    {"", []string{"Sales", "EVALUATE { 1 }", "--url", "http://127.0.0.1:1"}, 6, "", "pbmb sample serve"},
		"no address":               {"", []string{"Sales", "EVALUATE { 1 }", "--url", "nowhere"}, 2, "", "http://127.0.0.1:8090"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"sample", "query"}, c.args...)
			if !strings.Contains(strings.Join(c.args, " "), "--url") && name != "one number" { // which is the one that needs no server
				args = append(args, "--url", url)
			}
			got := pbmb(t, c.in, args...)
			if got.code != c.code || got.out != c.out || !strings.Contains(got.err, c.says) {
				t.Errorf("got %d %q %q, want %d %q and %q", got.code, got.out, got.err, c.code, c.out, c.says)
			}
		})
	}
	got := pbmb(t, "", "sample", "query", "Sales", `EVALUATE ROW ( "a", 1, "b", BLANK (), "c", "x" )`, "-o", "json", "--url", url)
	var answer struct {
		Columns []struct{ Name string }
		Rows    [][]any
	}
	if err := json.Unmarshal([]byte(got.out), &answer); err != nil || len(answer.Columns) != 3 || answer.Columns[1].Name != "[b]" || answer.Rows[0][1] != nil || answer.Rows[0][2] != "x" {
		t.Errorf("as JSON: %v %s", err, got.out)
	}
}

// SAMPLE-07: every change that the tenant declares is a command, and works on a
// running one.
func TestSampleChanges(t *testing.T) {
	url, _ := serveSample(t)
	for _, c := range sample.Changes() {
		words, _, _ := strings.Cut(c.Command, " <")
		help := pbmb(t, "", append(append([]string{"sample"}, strings.Fields(words)...), "--help")...)
		if help.code != 0 || !strings.Contains(help.out, "POST /_sample/"+c.Path+":\n") {
			t.Errorf("%s has no command %q: %s", c.Path, words, help.out+help.err)
		}
		for _, f := range c.Fields {
			if !strings.Contains(help.out, "<"+f.Name+">") && !strings.Contains(help.out, "--"+strings.ReplaceAll(f.Name, "_", "-")) {
				t.Errorf("%s cannot be given %s", words, f.Name)
			}
		}
	}
	query := func(dax string) run { return pbmb(t, "", "sample", "query", "Sales", dax, "--url", url) }
	if got := query("EVALUATE { [Customer count] }"); got.out != "[Value]\n1200\n" {
		t.Fatal(got.out + got.err)
	}
	for name, c := range map[string]struct {
		in   string
		args []string
		code int
		says string
	}{
		"an argument too few":    {"", []string{"measure", "rename", "Sales", "Orders"}, 2, "<to> is missing"},
		"an argument too many":   {"", []string{"measure", "remove", "Sales", "Net", "sales"}, 2, "one argument too many"},
		"no whole number":        {"", []string{"scan", "fail", "many"}, 2, "whole number"},
		"something unknown":      {"", []string{"measure", "remove", "Sales", "Nope"}, 4, `measure "Nope"`},
		"something impossible":   {"", []string{"dataset", "endorse", "Sales", "Nice"}, 2, "Promoted"},
		"an unknown word":        {"", []string{"measure", "paint"}, 2, "paint"},
		"a rename":               {"", []string{"measure", "rename", "Sales", "Customer count", "Customers"}, 0, ""},
		"DAX of standard input":  {"7 * 6", []string{"measure", "edit", "Sales", "Orders", "-"}, 0, ""},
		"a fault of nowhere":     {"", []string{"fault", "powerbi", "--status", "503"}, 2, "must start with /"},
		"a fault of nothing":     {"", []string{"fault", "/powerbi", "--count", "1"}, 2, "nothing would go wrong"},
		"a fault with its flags": {"", []string{"fault", "*refreshes", "--status", "429", "--retry-after", "5", "--count", "1"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"sample"}, c.args...)
			if len(args) > 3 || args[1] == "scan" { // a command, and not only its first word
				args = append(args, "--url", url)
			}
			got := pbmb(t, c.in, args...)
			if got.code != c.code || !strings.Contains(got.err, c.says) {
				t.Errorf("got %d %q, want %d and %q", got.code, got.err, c.code, c.says)
			}
		})
	}
	if got := query("EVALUATE { [Customers] + [Orders] }"); got.out != "[Value]\n1242\n" {
		t.Errorf("after the changes: %s", got.out+got.err)
	}
	pbmb(t, "", "sample", "fault", "*executeQueries", "--status", "429", "--retry-after", "5", "--count", "1", "--url", url)
	if got := query("EVALUATE { 1 }"); got.code != 6 || !strings.Contains(got.err, "throttled") || !strings.Contains(got.err, "Retry in 5 seconds.") {
		t.Errorf("throttled it is answered %d %q", got.code, got.err)
	}
	if got := query("EVALUATE { [Customer count] }"); got.code != 1 {
		t.Errorf("the old name is answered %s", got.out)
	}
}

// SAMPLE-01: what the help of `pbmb sample serve` and the guide say to paste works, and an
// address that is none, or is taken, is answered with what to do.
func TestSampleServeHelp(t *testing.T) {
	url, said := serveSample(t)
	if !strings.Contains(said, url+sample.HomePath) {
		t.Errorf("the reports' address is not said: %s", said)
	}
	help := pbmb(t, "", "sample", "serve", "--help").out
	listed := pbmb(t, "", "sample", "datasets", "-o", "tsv", "--url", url).out
	guide, err := os.ReadFile("../../docs/guide/sample-company.md")
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the help": help, "the guide": string(guide)} {
		id := regexp.MustCompile(`/datasets/([^/]+)/executeQueries`).FindStringSubmatch(text)
		if id == nil || !regexp.MustCompile(`(?m)^Sales\t.*\t`+id[1]+`\t`).MatchString(listed) {
			t.Errorf("the dataset of %s, %q, is not Sales: %s", where, id, listed)
		}
	}
	if id := regexp.MustCompile(`"workspaces": \["(.+)"\]`).FindSubmatch(guide); id == nil || !strings.Contains(listed, "\t"+string(id[1])+"\n") {
		t.Errorf("the workspace of the guide, %q, has no dataset: %s", id, listed)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a port that is taken":  {[]string{"--listen", strings.TrimPrefix(url, "http://")}, 1, "Say with --listen where else"},
		"a public URL of words": {[]string{"--public-url", "tenant"}, 2, "--public-url"},
	} {
		if got := pbmb(t, "", append([]string{"sample", "serve"}, c.args...)...); got.code != c.code || !strings.Contains(got.err, c.says) {
			t.Errorf("%s: got %d %q, want %d and %q", name, got.code, got.err, c.code, c.says)
		}
	}
}
