package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/server/cli/account"
	"github.com/pbmb/pbmb/server/cli/command"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/demo"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/tools/operation"
)

// defaultSampleURL is where a sample tenant runs that nobody told otherwise.
const defaultSampleURL = "http://" + demo.DefaultSampleListen

// A sampleClient asks a running sample tenant, by its test API and by the API of
// Power BI that it serves.
type sampleClient struct {
	url  string
	http *http.Client
}

func newSampleClient(address string) (*sampleClient, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, &command.UsageError{Err: fmt.Errorf("--url is %q, and must be a scheme and a host, such as %s", address, defaultSampleURL)}
	}
	s := &sampleClient{url: u.Scheme + "://" + u.Host}
	s.http, err = fetch.NewFixed([]string{s.url}, fetch.Options{
		Environment: string(config.Development), Timeout: 3 * time.Minute, MaxBytes: 64 << 20, // twice a query's largest answer, and more
	})
	if err != nil {
		return nil, &command.UsageError{Err: fmt.Errorf("--url: %w", err)}
	}
	return s, nil
}

// send sends a request and returns the answer, whatever its status.
func (s *sampleClient) send(ctx context.Context, method, path, token string, body any) (int, []byte, error) {
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, nil, fmt.Errorf("encoding a request: %w", err)
		}
		payload = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, payload)
	if err != nil {
		return 0, nil, fmt.Errorf("making a request: %w", err)
	}
	if payload != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.http.Do(r)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		return 0, nil, &account.Problem{
			Kind: string(operation.Unavailable), Detail: fmt.Sprintf("No sample tenant answered at %s: %v.", s.url, err),
			Next: "Start one with pbmb sample serve, or say with --url where it is.",
		}
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, fmt.Errorf("reading the answer of %s: %w", s.url, err)
	}
	return response.StatusCode, raw, nil
}

// listings has, by the kind of thing that was not found, the command that lists
// what there is.
var listings = map[string]string{"person": "people", "dataset": "datasets"}

// control asks the test API, whose errors are sentences.
func (s *sampleClient) control(ctx context.Context, method, path string, body, out any) error {
	status, raw, err := s.send(ctx, method, sample.ControlPath+path, "", body)
	if err != nil {
		return err
	}
	switch {
	case status == http.StatusNotFound && !bytes.Contains(raw, []byte("page not found")):
		p := &account.Problem{Kind: string(operation.NotFound), Detail: sentence(raw)}
		kind, _, _ := strings.Cut(p.Detail, " ")
		if list := listings[kind]; list != "" && strings.Count(p.Detail, ": ") == 1 { // and not of something within it
			p.Next = "pbmb sample " + list + " lists them."
		}
		return p
	case status == http.StatusBadRequest:
		return &account.Problem{Kind: string(operation.Invalid), Detail: sentence(raw)}
	case status >= 300:
		return &account.Problem{
			Detail: fmt.Sprintf("%s answered %d: %s", s.url, status, sentence(raw)),
			Next:   "Check that a sample tenant of this version runs there.",
		}
	case out != nil:
		if err := json.Unmarshal(raw, out); err != nil {
			return fmt.Errorf("reading the answer of %s: %w", s.url, err)
		}
	}
	return nil
}

func (s *sampleClient) get(ctx context.Context, path string, out any) error {
	return s.control(ctx, http.MethodGet, path, nil, out)
}

// sentence is an error text of the test API.
func sentence(raw []byte) string { return strings.TrimSpace(string(raw)) }

func (s *sampleClient) token(ctx context.Context, person, resource string) (string, error) {
	var answer struct {
		Token string `json:"access_token"`
	}
	err := s.control(ctx, http.MethodPost, "tokens", map[string]string{"person": person, "resource": resource}, &answer)
	return answer.Token, err
}

// query runs DAX on a dataset by its name or id, as a person.
func (s *sampleClient) query(ctx context.Context, dataset, dax, person string) (*sampleResult, error) {
	var found []sample.DatasetEntry
	if err := s.get(ctx, "datasets?"+url.Values{"name": {dataset}}.Encode(), &found); err != nil {
		return nil, err
	}
	switch len(found) {
	case 1:
	default:
		return nil, &command.UsageError{Err: fmt.Errorf("several datasets are named %q: give an id, as pbmb sample datasets lists them", dataset)}
	case 0:
		return nil, &account.Problem{
			Kind: string(operation.NotFound), Detail: fmt.Sprintf("No dataset is named %q.", dataset), Next: "pbmb sample datasets lists them.",
		}
	}
	if person == "" {
		return nil, &command.UsageError{Err: errors.New("--as is empty: pbmb sample people lists who there is")}
	}
	token, err := s.token(ctx, person, "powerbi")
	if err != nil {
		return nil, err
	}
	status, raw, err := s.send(ctx, http.MethodPost, sample.PowerBIPath+"/v1.0/myorg/datasets/"+found[0].ID+"/executeQueries", token, map[string]any{
		"queries":            []any{map[string]string{"query": dax}},
		"serializerSettings": map[string]bool{"includeNulls": true},
	})
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, queryProblem(status, raw, dax, found[0], person)
	}
	return readResult(raw)
}

// readResult reads the rows of an answer, with the columns in the order in which
// they are there.
func readResult(raw []byte) (*sampleResult, error) {
	type problem struct{ Code, Message string }
	var answer struct {
		Results []struct {
			Tables []struct {
				Rows  []json.RawMessage
				Error *problem
			}
			Error *problem
		}
	}
	if err := json.Unmarshal(bytes.TrimPrefix(raw, []byte("\ufeff")), &answer); err != nil {
		return nil, fmt.Errorf("reading the answer to the query: %w", err)
	}
	out := &sampleResult{Columns: []sampleColumn{}, Rows: [][]any{}}
	for _, result := range answer.Results {
		if result.Error != nil {
			out.Note = result.Error.Message
		}
		for _, table := range result.Tables {
			if table.Error != nil {
				out.Note = table.Error.Message
			}
			for i, row := range table.Rows {
				names, cells, err := readRow(row)
				if err != nil {
					return nil, fmt.Errorf("reading row %d of the answer: %w", i+1, err)
				}
				if i == 0 {
					for _, name := range names {
						out.Columns = append(out.Columns, sampleColumn{name})
					}
				}
				out.Rows = append(out.Rows, cells)
			}
		}
	}
	if len(out.Rows) == 0 && out.Note == "" {
		out.Note = "no rows"
	}
	return out, nil
}

// readRow takes a JSON object apart, in its order.
func readRow(raw json.RawMessage) (names []string, cells []any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // a number stays as it is written
	if _, err := dec.Token(); err != nil {
		return nil, nil, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		var cell any
		if err := dec.Decode(&cell); err != nil {
			return nil, nil, err
		}
		name, _ := key.(string) // a key is one
		names, cells = append(names, name), append(cells, cell)
	}
	return names, cells, nil
}
