package e2e_test

import (
	"io"
	"net/http"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/pbmb/pbmb/sync/sample"
)

// sampleLoadLimit is how long the rows of Sales may take to load.
const sampleLoadLimit = 2 * time.Second

// sampleFigures measures the start of the sample tenant by itself, as a process,
// and its first query, which loads the rows.
func sampleFigures(t *testing.T) section {
	const rounds = 5
	var bare, answers, first, second []time.Duration
	var p *salesInPostgres
	var copied []time.Duration
	for range rounds {
		began := time.Now()
		if out, err := exec.Command(bin, "sample", "--help").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		bare = append(bare, time.Since(began))

		port := freePort(t)
		url := "http://127.0.0.1:" + port
		serve := exec.Command(bin, "sample", "serve", "--listen", "127.0.0.1:"+port)
		began = time.Now()
		if err := serve.Start(); err != nil {
			t.Fatal(err)
		}
		stop := func() {
			serve.Process.Kill()
			serve.Wait()
		}
		defer stop() // at a failure
		for !answersAt(url + sample.LoginPath + "/" + sample.TenantID + "/v2.0/.well-known/openid-configuration") {
			if time.Since(began) > time.Minute {
				t.Fatal("the sample tenant does not answer")
			}
			time.Sleep(time.Millisecond)
		}
		answers = append(answers, time.Since(began))

		c := newSampleClient(t, url)
		dataset := c.sales()
		ask := func() time.Duration {
			began := time.Now()
			c.query(dataset, shapes[0].dax)
			return time.Since(began)
		}
		first, second = append(first, ask()), append(second, ask())
		if p == nil {
			p = newSalesInPostgres(t, c, dataset)
		}
		stop()
		began = time.Now()
		p.load(t)
		copied = append(copied, time.Since(began))
	}
	median := func(list []time.Duration) time.Duration {
		slices.Sort(list)
		return list[len(list)/2].Round(100 * time.Microsecond)
	}
	var f section
	f.printf("`pbmb sample serve`, the median of %d starts. The references are what the program needs to print its help, and COPY of the rows that the query reads into PostgreSQL.\n\n", rounds)
	f.printf("| step | takes | reference | times |\n| --- | ---: | ---: | ---: |\n")
	row := func(name string, took, reference time.Duration) {
		f.printf("| %s | %v | %v | %.2f |\n", name, took, reference, float64(took)/float64(reference))
	}
	row("start to the first answer", median(answers), median(bare))
	row("first query of Sales, which loads its rows", median(first), median(copied))
	row("the same query again", median(second), median(copied))
	if took := median(first); took > sampleLoadLimit {
		f.miss("The first query takes %v, not %v.", took, sampleLoadLimit)
	}
	return f
}

func answersAt(url string) bool {
	res, err := http.Get(url)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil && res.StatusCode == http.StatusOK
}
