package sample_test

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/sync/sample/embedding"
)

const embeddingsPath = sample.OpenAIPath + "/v1/embeddings"

// openAI is the client library that programs use, with a key.
func (s *site) openAI(key string) *openai.Client {
	cfg := openai.DefaultConfig(key)
	cfg.BaseURL = s.url + sample.OpenAIPath + "/v1"
	return openai.NewClientWithConfig(cfg)
}

func embeddingsOf(input any) openai.EmbeddingRequest {
	return openai.EmbeddingRequest{Input: input, Model: embedding.Model}
}

func alike(a, b openai.Embedding) float32 {
	sum := float32(0)
	for i, x := range a.Embedding {
		sum += x * b.Embedding[i]
	}
	return sum
}

// SAMPLE-01, SAMPLE-10: a public client library reads the vectors, in both formats
// and any number of dimensions.
func TestAnOpenAIClientGetsEmbeddings(t *testing.T) {
	c := sharedSite(t).openAI(sample.EmbeddingsKey)
	got, err := c.CreateEmbeddings(t.Context(), embeddingsOf([]string{"net sales by region", "turnover per area", "employee absence days"}))
	if err != nil {
		t.Fatal(err)
	}
	if got.Object != "list" || got.Model != embedding.Model || len(got.Data) != 3 || got.Usage.PromptTokens != 10 || got.Usage.TotalTokens != 10 {
		t.Fatalf("%+v", got)
	}
	for i, d := range got.Data {
		if d.Index != i || d.Object != "embedding" || len(d.Embedding) != embedding.Dimensions || math.Abs(float64(alike(d, d))-1) > 1e-6 {
			t.Errorf("%d: %+v", i, d)
		}
	}
	if near, far := alike(got.Data[0], got.Data[1]), alike(got.Data[0], got.Data[2]); near < far+0.3 {
		t.Errorf("what means the same is %.2f alike, what does not %.2f", near, far)
	}
	single, err := c.CreateEmbeddings(t.Context(), embeddingsOf("net sales by region"))
	if err != nil || len(single.Data) != 1 || alike(single.Data[0], got.Data[0]) < 0.999999 {
		t.Errorf("%+v, %v", single, err)
	}
	short := embeddingsOf("net sales by region")
	short.Dimensions, short.EncodingFormat = 16, openai.EmbeddingEncodingFormatBase64
	cut, err := c.CreateEmbeddings(t.Context(), short)
	if err != nil || len(cut.Data[0].Embedding) != 16 || math.Abs(float64(alike(cut.Data[0], cut.Data[0]))-1) > 1e-6 {
		t.Fatalf("%+v, %v", cut, err)
	}
	ratio := cut.Data[0].Embedding[0] / got.Data[0].Embedding[0]
	for i, x := range cut.Data[0].Embedding {
		if math.Abs(float64(x-ratio*got.Data[0].Embedding[i])) > 1e-6 {
			t.Errorf("dimension %d is %v, want %v times %v", i, x, ratio, got.Data[0].Embedding[i])
		}
	}
	models, err := c.ListModels(t.Context())
	if err != nil || len(models.Models) != 1 || models.Models[0].ID != embedding.Model {
		t.Errorf("%+v, %v", models, err)
	}
	if model, err := c.GetModel(t.Context(), embedding.Model); err != nil || model.ID != embedding.Model {
		t.Errorf("%+v, %v", model, err)
	}
}

// SAMPLE-01: what cannot be done is said in the shape of OpenAI's errors.
func TestOpenAIErrors(t *testing.T) {
	s := sharedSite(t)
	words := func(n int) string { return strings.Repeat("sales ", n) }
	many := func(n int, text string) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = text
		}
		return list
	}
	type body = map[string]any
	for name, c := range map[string]struct {
		body   any
		status int
		kind   string
		param  any
		code   any
		says   string
	}{
		"no model":            {body{"input": "a"}, 400, "invalid_request_error", nil, nil, "model"},
		"an unknown model":    {body{"model": "text-embedding-3-small", "input": "a"}, 404, "invalid_request_error", nil, "model_not_found", "sample-embedding-100d"},
		"no input":            {body{}, 400, "invalid_request_error", "input", nil, "'input'"},
		"null":                {body{"input": nil}, 400, "invalid_request_error", "input", nil, "Missing"},
		"an empty text":       {body{"input": []string{"a", ""}}, 400, "invalid_request_error", "input", nil, "'input[1]'"},
		"no texts":            {body{"input": []string{}}, 400, "invalid_request_error", "input", nil, "2048"},
		"too many texts":      {body{"input": many(2049, "a")}, 400, "invalid_request_error", "input", nil, "it has 2049"},
		"tokens":              {body{"input": []int{1, 2}}, 400, "invalid_request_error", "input", nil, "no tokens by number"},
		"lists of tokens":     {body{"input": [][]int{{1}, {2}}}, 400, "invalid_request_error", "input", nil, "no tokens by number"},
		"an object":           {body{"input": body{"a": 1}}, 400, "invalid_request_error", "input", nil, "a text or an array of texts"},
		"a long text":         {body{"input": words(8193)}, 400, "invalid_request_error", "input", nil, "8192 tokens, and it has 8193"},
		"many long texts":     {body{"input": many(37, words(8192))}, 400, "max_tokens_per_request", nil, "max_tokens_per_request", "300000"},
		"an unknown format":   {body{"input": "a", "encoding_format": "hex"}, 400, "invalid_request_error", "encoding_format", nil, "'base64'"},
		"no dimensions":       {body{"input": "a", "dimensions": 0}, 400, "invalid_request_error", "dimensions", nil, "between 1 and 100"},
		"too many dimensions": {body{"input": "a", "dimensions": 101}, 400, "invalid_request_error", "dimensions", nil, "= 101"},
		"no object":           {"text", 400, "invalid_request_error", nil, nil, "parse the JSON body"},
	} {
		t.Run(name, func(t *testing.T) {
			if b, ok := c.body.(body); ok && b["model"] == nil && name != "no model" {
				b["model"] = embedding.Model
			}
			var got struct {
				Error struct {
					Message, Type string
					Param, Code   any
				}
			}
			res := s.call(sample.EmbeddingsKey, "POST", embeddingsPath, c.body, &got)
			e := got.Error
			if res.StatusCode != c.status || e.Type != c.kind || e.Param != c.param || e.Code != c.code || !strings.Contains(e.Message, c.says) {
				t.Errorf("%s %+v, want %d %s %v %v, saying %s", res.Status, e, c.status, c.kind, c.param, c.code, c.says)
			}
		})
	}
	for _, most := range []any{words(8192), many(2048, "a")} {
		if res := s.call(sample.EmbeddingsKey, "POST", embeddingsPath, body{"model": embedding.Model, "input": most}, nil); res.StatusCode != http.StatusOK {
			t.Errorf("the most that is allowed: %s", res.Status)
		}
	}
	for path, method := range map[string]string{"/v1/chat/completions": "POST", "/v1/embeddings": "GET", "/v1/models/gpt-4": "GET", "/": "GET"} {
		var got struct{ Error struct{ Type string } }
		if res := s.call(sample.EmbeddingsKey, method, sample.OpenAIPath+path, nil, &got); res.StatusCode != http.StatusNotFound || got.Error.Type != "invalid_request_error" {
			t.Errorf("%s %s: %s %+v", method, path, res.Status, got)
		}
	}
}

// SAMPLE-01: the embeddings take their own key alone, and nothing else takes it.
func TestTheEmbeddingsKeyOpensNothingElse(t *testing.T) {
	s := sharedSite(t)
	for name, token := range map[string]string{
		"nothing":          "",
		"another key":      sample.EmbeddingsKey + "x",
		"Power BI's token": s.powerBI("admin"),
		"Graph's token":    s.tokens("admin@sample.example", "User.Read").AccessToken,
		"a client secret":  sample.AppSecret,
	} {
		for path, method := range map[string]string{"/v1/embeddings": "POST", "/v1/models": "GET", "/v1/models/" + embedding.Model: "GET"} {
			var got struct{ Error struct{ Code, Type string } }
			res := s.call(token, method, sample.OpenAIPath+path, map[string]any{"model": embedding.Model, "input": "a"}, &got)
			want := map[bool]string{true: "", false: "invalid_api_key"}[token == ""]
			if res.StatusCode != http.StatusUnauthorized || got.Error.Code != want || got.Error.Type != "invalid_request_error" {
				t.Errorf("%s with %s: %s %+v", path, name, res.Status, got)
			}
		}
	}
	for _, path := range []string{
		sample.GraphPath + "/v1.0/me", sample.PowerBIPath + "/v1.0/myorg/groups", sample.PowerBIPath + "/v1.0/myorg/admin/workspaces/modified",
		sample.GraphPath + "/oidc/userinfo",
	} {
		if res := s.call(sample.EmbeddingsKey, "GET", path, nil, nil); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s takes the embeddings' key: %s", path, res.Status)
		}
	}
	if _, err := s.openAI("wrong").CreateEmbeddings(t.Context(), embeddingsOf("a")); !isOpenAIError(err, http.StatusUnauthorized, "invalid_api_key") {
		t.Errorf("the library makes of a wrong key: %v", err)
	}
}

// SAMPLE-07: faults look like OpenAI's under its path.
func TestEmbeddingsCanFail(t *testing.T) {
	s := newSite(t, sample.Config{})
	c := s.openAI(sample.EmbeddingsKey)
	s.Break(sample.Fault{Path: sample.OpenAIPath, Count: 1, Status: http.StatusTooManyRequests, RetryAfter: 7})
	s.Break(sample.Fault{Path: sample.OpenAIPath, Count: 1, Status: http.StatusServiceUnavailable})
	_, err := c.CreateEmbeddings(t.Context(), embeddingsOf("a"))
	if !isOpenAIError(err, http.StatusTooManyRequests, "rate_limit_exceeded") {
		t.Errorf("throttled: %v", err)
	}
	if _, err = c.CreateEmbeddings(t.Context(), embeddingsOf("a")); !isOpenAIError(err, http.StatusServiceUnavailable, nil) {
		t.Errorf("down: %v", err)
	}
	if _, err = c.CreateEmbeddings(t.Context(), embeddingsOf("a")); err != nil {
		t.Errorf("mended: %v", err)
	}
	if n := s.Requests(sample.OpenAIPath); n != 3 {
		t.Errorf("%d requests were noted", n)
	}
	s.Break(sample.Fault{Path: sample.OpenAIPath, Count: 1, Status: http.StatusTooManyRequests, RetryAfter: 7})
	if res := s.call(sample.EmbeddingsKey, "POST", embeddingsPath, nil, nil); res.Header.Get("Retry-After") != "7" {
		t.Errorf("Retry-After is %q", res.Header.Get("Retry-After"))
	}
}

func isOpenAIError(err error, status int, code any) bool {
	e, ok := errors.AsType[*openai.APIError](err)
	return ok && e.HTTPStatusCode == status && (code == nil || e.Code == code) && e.Message != ""
}
