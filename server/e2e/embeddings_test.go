package e2e_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/sync/sample/embedding"
)

// SAMPLE-01, SAMPLE-10: the official client of the API, to which the sample tenant
// is one more address. It waits out a 429 by itself.
func TestTheOpenAIPackageGetsEmbeddings(t *testing.T) {
	if _, err := os.Stat("node_modules/openai"); err != nil {
		t.Skip("the openai package is not installed: run scripts/setup test")
	}
	if _, err := os.Stat(suiteNode); err != nil {
		t.Skip("Node 22 is not installed: run scripts/setup test")
	}
	tenant, err := sample.New(sample.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(tenant.Handler())
	t.Cleanup(srv.Close)
	tenant.Break(sample.Fault{Path: sample.OpenAIPath, Count: 1, Status: http.StatusTooManyRequests, RetryAfter: 1})
	c := exec.CommandContext(t.Context(), suiteNode, "embeddings.mjs", srv.URL+sample.OpenAIPath+"/v1", sample.EmbeddingsKey, embedding.Model,
		"net sales by region", "turnover per area", "employee absence days")
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	type refusal struct {
		Kind   string
		Status int
		Code   string
		Type   string
		Param  string
	}
	var got struct {
		Vectors, Short              [][]float64
		Tokens                      int
		Models                      []string
		WrongKey, WrongModel, Empty refusal
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(got.Vectors) != 3 || len(got.Vectors[0]) != embedding.Dimensions || len(got.Short[2]) != 20 || got.Tokens != 10 {
		t.Fatalf("%s", out)
	}
	alike := func(a, b []float64) float64 {
		sum := 0.0
		for i, x := range a {
			sum += x * b[i]
		}
		return sum
	}
	for _, v := range [][][]float64{got.Vectors, got.Short} {
		if near, far := alike(v[0], v[1]), alike(v[0], v[2]); near < far+0.3 {
			t.Errorf("what means the same is %.2f alike, what does not %.2f", near, far)
		}
	}
	if len(got.Models) != 1 || got.Models[0] != embedding.Model {
		t.Errorf("models %v", got.Models)
	}
	for name, c := range map[string]struct{ got, want refusal }{
		"a wrong key":      {got.WrongKey, refusal{"AuthenticationError", 401, "invalid_api_key", "invalid_request_error", ""}},
		"an unknown model": {got.WrongModel, refusal{"NotFoundError", 404, "model_not_found", "invalid_request_error", ""}},
		"an empty text":    {got.Empty, refusal{"BadRequestError", 400, "", "invalid_request_error", "input"}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
	if n := tenant.Requests("*/v1/embeddings"); n != 6 {
		t.Errorf("%d requests for embeddings, want 6: the throttled one is made again", n)
	}
}
