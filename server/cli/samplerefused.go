package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/server/cli/account"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/tools/operation"
)

// queryProblem says what executeQueries refused.
func queryProblem(status int, raw []byte, query string, dataset sample.DatasetEntry, person string) error {
	var answer struct {
		Message string
		Error   struct {
			Code, Message string
			Inner         struct {
				Details []struct {
					Code   string
					Detail struct{ Value string }
				}
			} `json:"pbi.error"`
		}
	}
	_ = json.Unmarshal(bytes.TrimPrefix(raw, []byte("\ufeff")), &answer) // what is no JSON has no message
	p := &account.Problem{Kind: string(operation.Invalid)}
	for _, d := range answer.Error.Inner.Details {
		if d.Code == "DetailsMessage" {
			p.Upstream = d.Detail.Value
		}
	}
	switch {
	case status == http.StatusTooManyRequests:
		p.Kind, p.Detail = string(operation.RateLimited), "The query was throttled (429)."
		p.Upstream = cmp.Or(p.Upstream, answer.Message, answer.Error.Code)
		p.Next = "Wait, and try again; pbmb sample mend takes faults away."
	case status == http.StatusNotFound:
		p.Kind, p.Detail = string(operation.Forbidden), fmt.Sprintf("%s may not query %s: that takes reading it and Build (%s).", person, dataset.Name, answer.Error.Code)
		p.Next = "Ask as somebody else with --as, or share it with pbmb sample dataset share."
	case p.Upstream != "":
		p.Detail, p.Next = "The query was refused.", shown(query, p.Upstream)
		if p.Next == "" && dataset.Roles > 0 {
			p.Next = fmt.Sprintf("%s has security roles, and %s may be in none of them: pbmb sample role assign puts a person into one.", dataset.Name, person)
		}
	default:
		p.Upstream, p.Detail = answer.Error.Code, fmt.Sprintf("The query was answered %d.", status)
	}
	return p
}

var queryPlace = regexp.MustCompile(`^Query \((\d+), (\d+)\) `)

// shown is the line of a query that an error names, with a mark below the place,
// and what to write there instead where the query cannot be parsed. It is empty
// where the error names no place.
func shown(query, said string) string {
	at := queryPlace.FindStringSubmatch(said)
	if at == nil {
		return ""
	}
	line, _ := strconv.Atoi(at[1]) // they are digits
	column, _ := strconv.Atoi(at[2])
	problem := dax.Problem{Pos: dax.Pos{Offset: offsetOf(query, line, column), Line: line, Column: column}}
	_, err := dax.ParseQuery(query)
	if wrong, ok := errors.AsType[*dax.Errors](err); ok && wrong.List[0].Pos == problem.Pos {
		problem = wrong.List[0]
	}
	_, marked, _ := strings.Cut((&dax.Errors{Text: query, List: []dax.Problem{problem}}).Render(), "\n")
	marked = strings.TrimRight(marked, "\n")
	if r := problem.Remedy; r != "" {
		marked += "\n" + strings.ToUpper(r[:1]) + r[1:] + "."
	}
	return marked
}

// offsetOf is where a line and a column, both counted from one, are in a text.
func offsetOf(text string, line, column int) int {
	offset := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(text[offset:], '\n')
		if i < 0 {
			return len(text)
		}
		offset += i + 1
	}
	for i := range text[offset:] {
		if column--; column == 0 {
			return offset + i
		}
	}
	return len(text)
}
