package sample

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/pbmb/pbmb/sync/sample/embedding"
)

// OpenAI's limits on embeddings.
const (
	maxInputs      = 2048
	maxInputTokens = 8192    // of one input
	maxTokens      = 300_000 // of all of a request
)

// modelCreated is when the model came about, as OpenAI tells it.
const modelCreated = 1_764_547_200 // 1 December 2025

func (t *Tenant) mountEmbeddings(mux *http.ServeMux) {
	handle := func(method, path string, h http.HandlerFunc) {
		mux.HandleFunc(method+" "+OpenAIPath+path, func(w http.ResponseWriter, r *http.Request) {
			if problem := checkKey(r); problem != nil {
				problem.write(w)
				return
			}
			h(w, r)
		})
	}
	model := object{"id": embedding.Model, "object": "model", "created": modelCreated, "owned_by": Domain}
	handle("POST", "/v1/embeddings", t.createEmbeddings)
	handle("GET", "/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, object{"object": "list", "data": []object{model}})
	})
	handle("GET", "/v1/models/{model}", func(w http.ResponseWriter, r *http.Request) {
		if name := r.PathValue("model"); name != embedding.Model {
			unknownModel(name).write(w)
			return
		}
		writeJSON(w, http.StatusOK, model)
	})
	handle("", "/", func(w http.ResponseWriter, r *http.Request) {
		(&openAIError{status: http.StatusNotFound, message: fmt.Sprintf("Invalid URL (%s %s)", r.Method, strings.TrimPrefix(r.URL.Path, OpenAIPath))}).write(w)
	})
}

// checkKey says what is wrong with a request's API key, or nothing.
func checkKey(r *http.Request) *openAIError {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok || key == "":
		return &openAIError{status: http.StatusUnauthorized, message: "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."}
	case subtle.ConstantTimeCompare([]byte(key), []byte(EmbeddingsKey)) != 1:
		return &openAIError{status: http.StatusUnauthorized, code: "invalid_api_key", message: "Incorrect API key provided. The sample tenant takes its own key alone, and no access token."}
	}
	return nil
}

// An embeddingsRequest is the body of a request for embeddings.
type embeddingsRequest struct {
	Model          string          `json:"model"`
	Input          json.RawMessage `json:"input"`
	EncodingFormat string          `json:"encoding_format"`
	Dimensions     *int            `json:"dimensions"`
}

// createEmbeddings gives the vector of each input, in the order of the inputs.
func (t *Tenant) createEmbeddings(w http.ResponseWriter, r *http.Request) {
	var body embeddingsRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 32<<20)).Decode(&body); err != nil {
		problem := badRequest("", "We could not parse the JSON body of your request: %v.", err)
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			problem = &openAIError{status: http.StatusRequestEntityTooLarge, message: "The body of a request may have 32 MiB at most."}
		}
		problem.write(w)
		return
	}
	inputs, dimensions, problem := body.read()
	if problem != nil {
		problem.write(w)
		return
	}
	embedder, err := t.embedder()
	if err != nil {
		t.log.Error("reading the words of the sample embeddings", "error", err)
		(&openAIError{status: http.StatusInternalServerError, kind: "server_error", message: "The server had an error while processing your request."}).write(w)
		return
	}
	total := 0
	for i, input := range inputs {
		n := embedder.Tokens(input)
		if n > maxInputTokens {
			badRequest("input", "Invalid 'input[%d]': maximum input length is %d tokens, and it has %d.", i, maxInputTokens, n).write(w)
			return
		}
		if total += n; total > maxTokens {
			tooManyTokens().write(w)
			return
		}
	}
	data := make([]object, len(inputs))
	for i, input := range inputs {
		if r.Context().Err() != nil {
			return // nobody waits for the answer any more
		}
		vector := embedding.Cut(embedder.Embed(input), dimensions)
		data[i] = object{"object": "embedding", "index": i, "embedding": vector}
		if body.EncodingFormat == "base64" {
			data[i]["embedding"] = packed(vector)
		}
	}
	writeJSON(w, http.StatusOK, object{
		"object": "list", "data": data, "model": embedding.Model,
		"usage": object{"prompt_tokens": total, "total_tokens": total},
	})
}

// read returns the texts of a request and the dimensions of its vectors, or what
// is wrong with it.
func (b *embeddingsRequest) read() (inputs []string, dimensions int, problem *openAIError) {
	switch {
	case b.Model == "":
		return nil, 0, badRequest("", "you must provide a model parameter")
	case b.Model != embedding.Model:
		return nil, 0, unknownModel(b.Model)
	case b.EncodingFormat != "" && b.EncodingFormat != "float" && b.EncodingFormat != "base64":
		return nil, 0, badRequest("encoding_format", "Invalid value: '%s'. Supported values are: 'float' and 'base64'.", b.EncodingFormat)
	}
	dimensions = embedding.Dimensions
	if b.Dimensions != nil {
		if dimensions = *b.Dimensions; dimensions < 1 || dimensions > embedding.Dimensions {
			return nil, 0, badRequest("dimensions", "Invalid value for 'dimensions' = %d. Must be between 1 and %d.", dimensions, embedding.Dimensions)
		}
	}
	inputs, problem = texts(b.Input)
	return inputs, dimensions, problem
}

// texts reads an input, which is a text or several. Those of tokens, which OpenAI
// takes besides, mean nothing without its tokenizer.
func texts(input json.RawMessage) ([]string, *openAIError) {
	var one string
	var several []string
	var tokens []json.RawMessage
	switch {
	case len(input) == 0 || string(input) == "null":
		return nil, badRequest("input", "Missing required parameter: 'input'.")
	case json.Unmarshal(input, &one) == nil:
		several = []string{one}
	case json.Unmarshal(input, &several) == nil:
	case json.Unmarshal(input, &tokens) == nil && len(tokens) > 0:
		return nil, badRequest("input", "Invalid type for 'input': this model has no tokens by number; give a text or an array of texts.")
	default:
		return nil, badRequest("input", "Invalid type for 'input': expected a text or an array of texts.")
	}
	if n := len(several); n == 0 || n > maxInputs {
		return nil, badRequest("input", "Invalid 'input': expected an array with 1 to %d texts, but it has %d.", maxInputs, n)
	}
	for i, text := range several {
		if text == "" {
			return nil, badRequest("input", "Invalid 'input[%d]': the text is empty.", i)
		}
	}
	return several, nil
}

// packed writes a vector as OpenAI's clients read it: little-endian floats of 32
// bits, in base64.
func packed(vector []float32) string {
	b := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// An openAIError is an error in OpenAI's shape.
type openAIError struct {
	status  int
	message string
	kind    string // invalid_request_error where empty
	param   string
	code    string
}

func badRequest(param, format string, args ...any) *openAIError {
	return &openAIError{status: http.StatusBadRequest, param: param, message: fmt.Sprintf(format, args...)}
}

func unknownModel(name string) *openAIError {
	return &openAIError{
		status: http.StatusNotFound, code: "model_not_found",
		message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it. The sample tenant has `%s`.", name, embedding.Model),
	}
}

func tooManyTokens() *openAIError {
	return &openAIError{
		status: http.StatusBadRequest, kind: "max_tokens_per_request", code: "max_tokens_per_request",
		message: fmt.Sprintf("The inputs of a request may have %d tokens at most.", maxTokens),
	}
}

func (e *openAIError) write(w http.ResponseWriter) {
	kind := e.kind
	if kind == "" {
		kind = "invalid_request_error"
	}
	or := func(text string) any { // null where empty
		if text == "" {
			return nil
		}
		return text
	}
	writeJSON(w, e.status, object{"error": object{"message": e.message, "type": kind, "param": or(e.param), "code": or(e.code)}})
}

// openAIFault is what a fault answers under [OpenAIPath].
func openAIFault(w http.ResponseWriter, status int) {
	e := &openAIError{status: status, kind: "server_error", message: "The server had an error while processing your request."}
	switch status {
	case http.StatusTooManyRequests:
		e.kind, e.code, e.message = "requests", "rate_limit_exceeded", fmt.Sprintf("Rate limit reached for %s. Please try again later.", embedding.Model)
	case http.StatusUnauthorized:
		e.kind, e.code, e.message = "", "invalid_api_key", "Incorrect API key provided."
	}
	e.write(w)
}
