package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// A Filter is one of the protocol's filters, as powerbi-models has them: basic
// ones with an operator and values, advanced ones with one or two conditions.
type Filter struct {
	Schema          string      `json:"$schema,omitempty"`
	Target          Target      `json:"target"`
	Operator        string      `json:"operator,omitempty"` // of a basic filter: In, NotIn or All
	Values          []any       `json:"values,omitempty"`
	LogicalOperator string      `json:"logicalOperator,omitempty"` // of an advanced filter: And or Or
	Conditions      []Condition `json:"conditions,omitempty"`
	FilterType      *int        `json:"filterType,omitempty"`
}

// A Condition of an advanced filter.
type Condition struct {
	Operator string `json:"operator"`
	Value    any    `json:"value"`
}

// A Target is the column that a filter is on. What targets anything else, as a
// measure or a level of a hierarchy, keeps neither name.
type Target struct {
	Table  string `json:"table"`
	Column string `json:"column"`
}

// UnmarshalJSON reads the target of a column, and leaves others empty.
func (t *Target) UnmarshalJSON(data []byte) error {
	type plain Target
	var p plain
	if json.Unmarshal(data, &p) == nil {
		*t = Target(p)
	}
	return nil
}

// The filterType of the two kinds that are computed.
const (
	advancedFilter = 0
	basicFilter    = 1
)

// A FilterError is a filter that cannot be applied, and why.
type FilterError struct{ Reason string }

func (e *FilterError) Error() string { return e.Reason }

func filterErrorf(format string, args ...any) error {
	return &FilterError{Reason: fmt.Sprintf(format, args...)}
}

func (s Shown) filter() Filter {
	kind := basicFilter
	return Filter{
		Schema: "http://powerbi.com/product/schema#basic", FilterType: &kind,
		Target: Target(s.Column), Operator: "In", Values: s.In,
	}
}

// field is the column that a filter is on.
func (f Filter) field() Field { return Field{Table: f.Target.Table, Column: f.Target.Column} }

// condition is the DAX that is true for the values that a filter shows, or the
// empty text where it shows all. The error is a [FilterError] or an
// [UnknownColumn].
func (f Filter) condition(m *knowledge.Model) (string, error) {
	if f.Target.Table == "" || f.Target.Column == "" {
		return "", filterErrorf("a filter is supported on a column only: its target needs table and column")
	}
	if f.FilterType != nil && *f.FilterType != basicFilter && *f.FilterType != advancedFilter {
		return "", filterErrorf("filterType %d is not supported: use a basic or an advanced filter", *f.FilterType)
	}
	c, err := findColumn(m, f.field())
	if err != nil {
		return "", err
	}
	column := dax.QuoteColumn(f.Target.Table, f.Target.Column)
	if f.LogicalOperator != "" {
		return f.advanced(column, c.DataType)
	}
	switch f.Operator {
	case "All":
		return "", nil
	case "In", "NotIn":
	default:
		return "", filterErrorf("the operator %q of a filter on %s is not supported: use In, NotIn or All", f.Operator, f.field())
	}
	if len(f.Values) == 0 {
		return "", nil
	}
	list := make([]string, len(f.Values))
	for i, v := range f.Values {
		if list[i], err = literal(v, c.DataType); err != nil {
			return "", filterErrorf("the filter on %s: %s", f.field(), err)
		}
	}
	in := column + " IN { " + strings.Join(list, ", ") + " }"
	if f.Operator == "NotIn" {
		in = "NOT ( " + in + " )"
	}
	return in, nil
}

func (f Filter) advanced(column string, typ knowledge.DataType) (string, error) {
	joint, known := map[string]string{"And": " && ", "Or": " || "}[f.LogicalOperator]
	if !known {
		return "", filterErrorf("the logicalOperator %q is not supported: use And or Or", f.LogicalOperator)
	}
	var parts []string
	for _, c := range f.Conditions {
		part, err := c.dax(column, typ)
		if err != nil {
			return "", filterErrorf("the filter on %s: %s", f.field(), err)
		}
		if part != "" {
			parts = append(parts, "( "+part+" )")
		}
	}
	return strings.Join(parts, joint), nil
}

var comparisons = map[string]string{
	"LessThan": "<", "LessThanOrEqual": "<=", "GreaterThan": ">", "GreaterThanOrEqual": ">=", "Is": "=", "IsNot": "<>",
}

func (c Condition) dax(column string, typ knowledge.DataType) (string, error) {
	if c.Operator == "None" {
		return "", nil
	}
	switch c.Operator {
	case "IsBlank":
		return "ISBLANK ( " + column + " )", nil
	case "IsNotBlank":
		return "NOT ( ISBLANK ( " + column + " ) )", nil
	case "IsEmptyString":
		return column + ` == ""`, nil
	case "IsNotEmptyString":
		return "NOT ( " + column + ` == "" )`, nil
	}
	value, err := literal(c.Value, typ)
	if err != nil {
		return "", err
	}
	if sign, ok := comparisons[c.Operator]; ok {
		return column + " " + sign + " " + value, nil
	}
	if typ != knowledge.String {
		return "", fmt.Errorf("the operator %q needs a column of texts", c.Operator)
	}
	switch c.Operator {
	case "Contains":
		return "CONTAINSSTRING ( " + column + ", " + plainText(c.Value) + " )", nil
	case "DoesNotContain":
		return "NOT ( CONTAINSSTRING ( " + column + ", " + plainText(c.Value) + " ) )", nil
	case "StartsWith":
		return "LEFT ( " + column + ", LEN ( " + value + " ) ) = " + value, nil
	case "DoesNotStartWith":
		return "NOT ( LEFT ( " + column + ", LEN ( " + value + " ) ) = " + value + " )", nil
	}
	return "", fmt.Errorf("the operator %q is not supported", c.Operator)
}

// plainText is the literal of a text to look for, whose ?, * and ~ mean themselves.
func plainText(v any) string {
	text, _ := v.(string) // the literal of a column of texts was made of it before
	return dax.QuoteText(strings.NewReplacer("~", "~~", "?", "~?", "*", "~*").Replace(text))
}

// literal writes a value that came as JSON or YAML for a column of a type.
func literal(v any, typ knowledge.DataType) (string, error) {
	if v == nil {
		return "BLANK ()", nil
	}
	wrong := fmt.Errorf("%v is no value of a column of the type %s", v, typ)
	switch typ {
	case knowledge.String:
		if text, ok := v.(string); ok {
			return dax.QuoteText(text), nil
		}
	case knowledge.Boolean:
		if b, ok := v.(bool); ok {
			return strings.ToUpper(strconv.FormatBool(b)) + " ()", nil
		}
	case knowledge.DateTime:
		if text, ok := v.(string); ok {
			return dateLiteral(text, wrong)
		}
	case knowledge.Int64, knowledge.Double, knowledge.Decimal:
		if f, ok := number(v); ok {
			return strconv.FormatFloat(f, 'f', -1, 64), nil
		}
	}
	return "", wrong
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

// dateLiteral takes the times that JavaScript writes, and dates.
func dateLiteral(text string, wrong error) (string, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			at = at.UTC()
			return fmt.Sprintf("( DATE ( %d, %d, %d ) + TIME ( %d, %d, %d ) )",
				at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second()), nil
		}
	}
	return "", wrong
}
