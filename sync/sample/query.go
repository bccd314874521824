package sample

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge/dax/eval"
)

// Power BI's limits on executeQueries.
const (
	queriesPerMinute = 120
	maxRows          = 100_000
	maxValues        = 1_000_000
	maxBytes         = 15 << 20
)

// A queryRequest is the body of executeQueries.
type queryRequest struct {
	Queries []struct {
		Query string `json:"query"`
	} `json:"queries"`
	SerializerSettings struct {
		IncludeNulls bool `json:"includeNulls"`
	} `json:"serializerSettings"`
	ImpersonatedUserName string `json:"impersonatedUserName"`
}

func (t *Tenant) executeQueries(w http.ResponseWriter, r *http.Request, c caller) {
	if !t.take(w, "query "+c.key, queriesPerMinute, time.Minute) {
		return
	}
	var body queryRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<20)).Decode(&body); err != nil {
		powerBIError(w, http.StatusBadRequest, "BadRequest", "Bad Request")
		return
	}
	if n := len(body.Queries); n != 1 {
		powerBIError(w, http.StatusBadRequest, "DatasetExecuteQueriesError", "",
			detail("DetailsMessage", "The number of queries in a request must be 1 but was "+strconv.Itoa(n)+"."))
		return
	}
	d, as, ok := t.queryAs(w, r, c, body.ImpersonatedUserName)
	if !ok {
		return
	}
	t.mu.RLock()
	model, label, rows := d.model(), d.label, d.source()
	t.mu.RUnlock()
	engine, err := d.engine.get(model, rows, t.now)
	if err != nil {
		t.log.Error("loading the rows of a sample dataset", "dataset", d.name, "error", err)
		powerBIError(w, http.StatusInternalServerError, "InternalServerError", "An internal error occurred.")
		return
	}
	result, err := engine.Query(r.Context(), body.Queries[0].Query, as)
	if r.Context().Err() != nil {
		return // nobody waits for the answer any more
	}
	if err != nil {
		t.queryError(w, err)
		return
	}
	answer := writeResult(result, body.SerializerSettings.IncludeNulls, label)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(answer) // the client may be gone
}

// queryAs finds the dataset of the path and for whom the query runs. It answers
// where the caller may not query.
func (t *Tenant) queryAs(w http.ResponseWriter, r *http.Request, c caller, impersonated string) (*dataset, eval.Identity, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d, may, ok := t.findDataset(w, r, c)
	if !ok {
		return nil, eval.Identity{}, false
	}
	if !may.explore {
		powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "",
			detail("DetailsMessage", "You cannot query the dataset "+d.id+"."))
		return nil, eval.Identity{}, false
	}
	p := c.person
	if impersonated != "" && len(d.model().Roles) > 0 { // ignored where there is no row-level security
		other := t.personByName(impersonated)
		if other == nil || !may.write {
			powerBIError(w, http.StatusForbidden, "PowerBINotAuthorizedException", "")
			return nil, eval.Identity{}, false
		}
		p = other
	}
	return d, t.identityOf(p, d), true
}

// identityOf is for whom a query of a person runs.
func (t *Tenant) identityOf(p *person, d *dataset) eval.Identity {
	upn := p.upn
	if p.guest.Load() {
		upn = p.mail // what a guest's sign-in name is to Power BI
	}
	return eval.Identity{UPN: upn, ObjectID: p.id, Roles: t.rolesOf(d, p), Unrestricted: t.rightsOn(p, d).write}
}

// queryError answers what was wrong with a query.
func (t *Tenant) queryError(w http.ResponseWriter, err error) {
	problem, ok := errors.AsType[*eval.Error](err)
	if !ok {
		t.log.Error("evaluating a query in the sample tenant", "error", err)
		powerBIError(w, http.StatusInternalServerError, "InternalServerError", "An internal error occurred.")
		return
	}
	message, code := problem.Error(), "3239575574"
	switch problem.Kind {
	case eval.Refused:
		message = "Failed to execute the DAX query." // Power BI does not say that there is no role
	case eval.Syntax, eval.Invalid:
		code = "3241803862"
	case eval.UnknownName:
		code = "3241804132"
	}
	powerBIError(w, http.StatusBadRequest, "DatasetExecuteQueriesError", "",
		detail("DetailsMessage", message), detail("AnalysisServicesErrorCode", code))
}

// writeResult writes a result as executeQueries does: with a byte order mark,
// blanks left out unless asked for, one table, cut at the limits. A cut answer
// and one of several tables carry their error inside.
func writeResult(res *eval.Result, includeNulls bool, label string) []byte {
	var b bytes.Buffer
	b.WriteString("\ufeff{")
	if label != "" {
		fmt.Fprintf(&b, `"informationProtectionLabel":{"id":%s,"name":%s},`, quote(id("label", label)), quote(label))
	}
	b.WriteString(`"results":[{"tables":[`)
	if len(res.Tables) > 0 {
		writeTable(&b, res.Tables[0], includeNulls)
	}
	b.WriteString("]")
	if len(res.Tables) > 1 {
		b.WriteString(`,"error":{"code":"3239575574","message":"More than one result table in a query"}`)
	}
	b.WriteString("}]}")
	return b.Bytes()
}

func writeTable(b *bytes.Buffer, tbl eval.ResultTable, includeNulls bool) {
	limit, problem := maxRows, ""
	if n := len(tbl.Columns); n > 0 {
		limit = min(limit, maxValues/n)
	}
	rows := tbl.Rows
	if len(rows) > limit {
		rows = rows[:limit]
		problem = fmt.Sprintf("More than %d rows in a query result", limit)
	}
	keys := make([]string, len(tbl.Columns))
	for i, c := range tbl.Columns {
		keys[i] = quote(c.Name) + ":"
	}
	b.WriteString(`{"rows":[`)
	for i, row := range rows {
		if b.Len() > maxBytes {
			problem = "Results exceed the limit of 15 MB"
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		writeRow(b, keys, row, includeNulls)
	}
	b.WriteString("]")
	if problem != "" {
		b.WriteString(`,"error":{"code":"3239575574","message":` + quote(problem) + "}")
	}
	b.WriteString("}")
}

func writeRow(b *bytes.Buffer, keys []string, row []any, includeNulls bool) {
	b.WriteByte('{')
	first := true
	for i, cell := range row {
		if cell == nil && !includeNulls {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteString(keys[i])
		switch v := cell.(type) {
		case nil:
			b.WriteString("null")
		case time.Time:
			b.WriteString(quote(v.Format("2006-01-02T15:04:05")))
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case float64:
			writeNumber(b, v)
		case bool:
			b.WriteString(strconv.FormatBool(v))
		default:
			b.WriteString(quote(fmt.Sprint(v)))
		}
	}
	b.WriteByte('}')
}

// writeNumber writes a number as .NET's serializer does, for which NaN and the
// infinities are texts.
func writeNumber(b *bytes.Buffer, f float64) {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.ContainsAny(text, "NI") {
		text = quote(strings.NewReplacer("+Inf", "Infinity", "-Inf", "-Infinity").Replace(text))
	} else if mantissa, exponent, ok := strings.Cut(text, "e"); ok {
		if exp, _ := strconv.Atoi(exponent); exp >= -5 && exp < 16 {
			text = strconv.FormatFloat(f, 'f', -1, 64)
		} else {
			text = mantissa + "E" + exponent
		}
	}
	b.WriteString(text)
}

func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
