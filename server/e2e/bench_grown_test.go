package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/sync/sample"
)

// A tenantProcess is a running `pbmb sample serve`.
type tenantProcess struct {
	url     string
	pid     int
	readyIn time.Duration
	token   string // the scanner's
}

func startTenant(t *testing.T, flags ...string) *tenantProcess {
	t.Helper()
	port := freePort(t)
	c := exec.Command(bin, append([]string{"sample", "serve", "--listen", "127.0.0.1:" + port}, flags...)...)
	c.Stdout = io.Discard
	begin := time.Now()
	start(t, port, c)
	p := &tenantProcess{url: "http://127.0.0.1:" + port, pid: c.Process.Pid, readyIn: time.Since(begin)}
	var answer struct {
		Token string `json:"access_token"`
	}
	res, err := http.PostForm(p.url+sample.LoginPath+"/"+sample.TenantID+"/oauth2/v2.0/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {sample.ScannerID}, "client_secret": {sample.ScannerSecret},
		"scope": {sample.PowerBIAudience + "/.default"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Token == "" {
		t.Fatalf("no token for the scanner: %s %v", res.Status, err)
	}
	p.token = answer.Token
	return p
}

// peak is the most memory that the process had, in MiB.
func (p *tenantProcess) peak(t *testing.T) float64 {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return float64(kib) / 1024
		}
	}
	t.Fatal("the system does not tell the peak memory of a process")
	return 0
}

func (p *tenantProcess) ask(t *testing.T, method, path, body string) io.ReadCloser {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.url+sample.PowerBIPath+"/v1.0/myorg/admin/workspaces/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+p.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode >= 300 {
		t.Fatalf("%s answered %s", path, res.Status)
	}
	return res.Body
}

// A scanFigure is what a full scan through the admin API took.
type scanFigure struct {
	took, list  time.Duration // in all; of the list of workspaces
	first       time.Duration // the longest until the first byte of a result
	bytes       int64
	workspaces  int
	datasets    int
	measures    int
	columns     int
	countedTime time.Duration
}

// scanAll scans everything, a hundred workspaces at a time, one after the other.
func (p *tenantProcess) scanAll(t *testing.T) scanFigure {
	t.Helper()
	var f scanFigure
	begin := time.Now()
	var ids []struct{ ID string }
	body := p.ask(t, "GET", "modified", "")
	if err := errors.Join(json.NewDecoder(body).Decode(&ids), body.Close()); err != nil {
		t.Fatal(err)
	}
	f.list = time.Since(begin)
	f.workspaces = len(ids)
	for some := range slices.Chunk(ids, 100) {
		var asked struct {
			Workspaces []string `json:"workspaces"`
		}
		for _, w := range some {
			asked.Workspaces = append(asked.Workspaces, w.ID)
		}
		request, err := json.Marshal(asked)
		if err != nil {
			t.Fatal(err)
		}
		var scan struct{ ID string }
		body := p.ask(t, "POST", "getInfo?datasetSchema=true&datasetExpressions=true&getArtifactUsers=true", string(request))
		if err := errors.Join(json.NewDecoder(body).Decode(&scan), body.Close()); err != nil {
			t.Fatal(err)
		}
		asking := time.Now()
		result := p.ask(t, "GET", "scanResult/"+scan.ID, "")
		one := make([]byte, 1)
		if _, err := io.ReadFull(result, one); err != nil {
			t.Fatal(err)
		}
		f.first = max(f.first, time.Since(asking))
		rest, err := io.ReadAll(result)
		if err := errors.Join(err, result.Close()); err != nil {
			t.Fatal(err)
		}
		f.bytes += int64(len(rest) + 1)
		counting := time.Now()
		f.count(t, append(one, rest...))
		f.countedTime += time.Since(counting)
	}
	f.took = time.Since(begin) - f.countedTime
	return f
}

// count counts what an answer has. Names that a scan gives but nobody wrote, those
// of the engine's row numbers, do not count.
func (f *scanFigure) count(t *testing.T, answer []byte) {
	t.Helper()
	var got struct {
		Workspaces []struct {
			Datasets []struct {
				Tables []struct {
					Measures []struct{}
					Columns  []struct{}
				}
			}
		}
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	for _, w := range got.Workspaces {
		f.datasets += len(w.Datasets)
		for _, d := range w.Datasets {
			for _, tbl := range d.Tables {
				f.measures, f.columns = f.measures+len(tbl.Measures), f.columns+len(tbl.Columns)
			}
		}
	}
	f.columns -= bytes.Count(answer, []byte(`"RowNumber-`))
}

// grownFigures measures the sample tenant as a process of its own, small and grown
// to the scale of the product.
func grownFigures(t *testing.T) section {
	const spaces, maxMemory = 6000, 100
	small, large := startTenant(t, "--unlimited"), startTenant(t, "--unlimited", "--workspaces", strconv.Itoa(spaces))
	before := small.scanAll(t)
	got := large.scanAll(t)
	beside := large.peak(t) - small.peak(t)

	var f section
	f.printf("`pbmb sample serve`, the company alone and beside 6,000 made-up workspaces, each a process of its own. A full scan asks for a hundred workspaces at a time, one answer after the other.\n\n")
	f.printf("| | company | grown |\n| --- | ---: | ---: |\n")
	row := func(name, format string, company, grown any) {
		f.printf("| %s | "+format+" | "+format+" |\n", name, company, grown)
	}
	row("workspaces", "%d", before.workspaces, got.workspaces)
	row("datasets", "%d", before.datasets, got.datasets)
	row("measures", "%d", before.measures, got.measures)
	row("columns", "%d", before.columns, got.columns)
	row("ready after, s", "%.2f", small.readyIn.Seconds(), large.readyIn.Seconds())
	row("list of all workspaces, s", "%.2f", before.list.Seconds(), got.list.Seconds())
	row("full scan, s", "%.2f", before.took.Seconds(), got.took.Seconds())
	row("full scan, MiB", "%.1f", mib(before.bytes), mib(got.bytes))
	row("first byte of a result at the latest, ms", "%.1f", milliseconds(before.first), milliseconds(got.first))
	row("peak memory, MiB", "%.0f", small.peak(t), large.peak(t))
	f.printf("\nThe grown tenant took %.0f MiB more than the small one; at most %d.\n", beside, maxMemory)
	if got.workspaces-before.workspaces != spaces || got.datasets-before.datasets != 12_500 || got.measures-before.measures != 250_000 || got.columns-before.columns != 1_000_000 {
		f.miss("The grown tenant has %+v beside the company's %+v.", got, before)
	}
	if beside > maxMemory {
		f.miss("The grown tenant took %.0f MiB more than the small one, not %d.", beside, maxMemory)
	}
	return f
}

func mib(n int64) float64                  { return float64(n) / (1 << 20) }
func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
