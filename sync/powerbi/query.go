package powerbi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// What Power BI gives at most in one answer.
const (
	MaxRows   = 100_000
	MaxValues = 1_000_000
	MaxBytes  = 15 << 20
)

// A Result is the one table that a query gave.
type Result struct {
	// Columns are the keys as Power BI spells them, Table[Column] for those of
	// the model and [Name] for others, in the order in which they appeared.
	Columns []string

	// Rows have a value for each column: string, bool, json.Number, which keeps
	// every digit, or nil for a blank.
	Rows [][]any

	// Truncated is Power BI's reason for having given only a part. It is the
	// one error beside which rows are given.
	Truncated string
}

// ExecuteQuery runs one query as whoever the token stands for, at the address
// that asks for no role in the workspace. A refusal is an [*Error], also where
// Power BI put it into a 200.
func (c *Client) ExecuteQuery(ctx context.Context, token, datasetID, dax string) (*Result, error) {
	type query struct {
		Query string `json:"query"`
	}
	type settings struct {
		IncludeNulls bool `json:"includeNulls"`
	}
	in := struct {
		Queries  []query  `json:"queries"`
		Settings settings `json:"serializerSettings"`
	}{[]query{{dax}}, settings{true}}

	a, err := c.open(ctx, token, http.MethodPost, "/datasets/"+escape(datasetID)+"/executeQueries", in)
	if err != nil {
		return nil, err
	}
	defer a.close()
	r := reader{Decoder: json.NewDecoder(a), index: map[string]int{}}
	r.UseNumber()
	if err := r.answer(); err != nil {
		return nil, a.unreadable(err)
	}
	if r.fault != nil {
		if !cut(r.fault.message()) {
			return nil, &Error{Status: a.status, Code: r.fault.code(), Message: r.fault.message(), RequestID: a.requestID}
		}
		r.result.Truncated = r.fault.message()
	}
	if r.tables == 0 {
		return nil, a.unreadable(ErrShape)
	}
	return &r.result, nil
}

// cut reports whether an error says that the answer reached Power BI's size.
func cut(message string) bool {
	return strings.HasPrefix(message, "More than ") && strings.Contains(message, "in a query result") ||
		strings.HasPrefix(message, "Results exceed ")
}

// A reader takes an answer apart token by token, since only so the order of the
// keys in a row is known. Names of the envelope are in any letter case.
type reader struct {
	*json.Decoder
	result Result
	index  map[string]int // column → its place
	tables int
	fault  *fault
}

func (r *reader) answer() error {
	return r.object(func(key string) error {
		if strings.EqualFold(key, "results") {
			return r.array(func() error { return r.object(r.resultMember) })
		}
		return r.other(key)
	})
}

func (r *reader) resultMember(key string) error {
	if strings.EqualFold(key, "tables") {
		return r.array(func() error {
			r.tables++
			if r.tables > 1 { // beside an error: several tables were asked for
				return r.Decode(new(skipped))
			}
			return r.object(r.tableMember)
		})
	}
	return r.other(key)
}

func (r *reader) tableMember(key string) error {
	if strings.EqualFold(key, "rows") {
		return r.array(r.row)
	}
	return r.other(key)
}

// other reads an error, at whatever level it stands, and passes over the rest.
func (r *reader) other(key string) error {
	if !strings.EqualFold(key, "error") {
		return r.Decode(new(skipped))
	}
	var f *fault
	if err := r.Decode(&f); err != nil {
		return err
	}
	if f != nil && (r.fault == nil || cut(r.fault.message())) {
		r.fault = f
	}
	return nil
}

func (r *reader) row() error {
	row := make([]any, len(r.result.Columns))
	err := r.object(func(key string) error {
		v, err := r.Token()
		if err != nil {
			return err
		}
		if _, nested := v.(json.Delim); nested {
			return fmt.Errorf("a value that is not a scalar: %w", ErrShape)
		}
		i, ok := r.index[key]
		if !ok {
			i = len(r.result.Columns)
			r.index[key] = i
			r.result.Columns = append(r.result.Columns, key)
			row = append(row, nil)
		}
		row[i] = v
		return nil
	})
	if err != nil {
		return err
	}
	if n := len(r.result.Rows); n > 0 && len(r.result.Rows[n-1]) < len(row) {
		for i, earlier := range r.result.Rows {
			r.result.Rows[i] = append(earlier, make([]any, len(row)-len(earlier))...)
		}
	}
	r.result.Rows = append(r.result.Rows, row)
	return nil
}

func (r *reader) object(member func(key string) error) error {
	return r.within('{', func() error {
		key, err := r.Token()
		if err != nil {
			return err
		}
		return member(key.(string)) // the decoder takes nothing else for a key
	})
}

func (r *reader) array(element func() error) error { return r.within('[', element) }

func (r *reader) within(open json.Delim, element func() error) error {
	t, err := r.Token()
	if err != nil {
		return err
	}
	if t == nil {
		return nil
	}
	if t != open {
		return fmt.Errorf("%T where %s was expected: %w", t, open, ErrShape)
	}
	for r.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = r.Token()
	return err
}

// A skipped value is checked to be JSON and dropped.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// LastRefresh returns when the last completed refresh of a dataset ended; ok is
// false where Power BI names none, as for a model that holds no data.
func (c *Client) LastRefresh(ctx context.Context, token, datasetID string) (ended time.Time, ok bool, err error) {
	var out struct {
		Value []struct {
			Status  string
			EndTime string
		}
	}
	if err := c.get(ctx, token, "/datasets/"+escape(datasetID)+"/refreshes?$top=20", &out); err != nil {
		return time.Time{}, false, err
	}
	for _, r := range out.Value {
		if !strings.EqualFold(r.Status, "Completed") {
			continue
		}
		at, err := parseTime(r.EndTime)
		if err != nil {
			return time.Time{}, false, fmt.Errorf("end of a refresh: %w", ErrShape)
		}
		if at.After(ended) {
			ended, ok = at, true
		}
	}
	return ended, ok, nil
}

// parseTime reads a time with or without a zone; without one it is UTC.
func parseTime(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	return time.Parse("2006-01-02T15:04:05.999999999", s)
}
