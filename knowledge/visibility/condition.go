package visibility

import (
	"fmt"
	"strings"

	"github.com/pbmb/pbmb/policies"
)

// An UntranslatableError names what in a plan cannot become SQL: an operator or an
// attribute beyond those that a rule on describe may use.
type UntranslatableError struct {
	Name string
}

func (e *UntranslatableError) Error() string {
	return fmt.Sprintf("a rule on describe uses %s, which lists cannot follow", e.Name)
}

// Unwrap makes it a missing decision: whoever gets it refuses.
func (e *UntranslatableError) Unwrap() error { return policies.ErrUnavailable }

func unknown(format string, args ...any) error {
	return &UntranslatableError{Name: fmt.Sprintf(format, args...)}
}

// A condition is over one row of powerbi_dataset. Its SQL is never null, so that
// not means not: every column that it reads is declared not null.
type condition interface{ sql(*writer) string }

type writer struct {
	alias string
	arg   func(any) string
}

type (
	and    []condition
	or     []condition
	not    struct{ condition }
	always bool

	// in holds where the attribute, a text, is one of the values.
	in struct {
		attribute
		values []string
	}

	// among holds where the attribute, a uuid, is one of the ids.
	among struct {
		attribute
		ids idList
	}

	// flag holds where a boolean attribute has the value.
	flag struct {
		attribute
		value bool
	}

	// same holds where two attributes are equal.
	same struct{ a, b attribute }

	// inApps holds where one of the apps holds the dataset.
	inApps struct{ ids idList }

	// present holds for what the last scan saw.
	present struct{}

	// floor is what no policy widens: present in the tenant, not switched off.
	floor struct{}

	raw string
)

type attributeKind int

const (
	kindText attributeKind = iota
	kindUUID
	kindBool
	kindApps // a list, in a table of its own
)

type attribute struct {
	column string
	kind   attributeKind
}

const (
	varID        = "request.resource.id"
	varWorkspace = "request.resource.attr.workspace_id"
	varApps      = "request.resource.attr.app_ids"
)

// attributes are all that a rule on describe may use (VIS-08).
var attributes = map[string]attribute{
	varID:                               {"id", kindUUID},
	varWorkspace:                        {"workspace_id", kindUUID},
	varApps:                             {"", kindApps},
	"request.resource.attr.endorsement": {"endorsement", kindText},
	"request.resource.attr.sensitivity_label":      {"sensitivity_label", kindText},
	"request.resource.attr.has_row_level_security": {"has_row_level_security", kindBool},
}

func translate(p policies.Plan) (condition, error) {
	switch p.Kind {
	case policies.Never:
		return always(false), nil
	case policies.Always:
		return always(true), nil
	case policies.Conditional:
		return translateExpr(p.Cond)
	}
	return nil, unknown("a plan of kind %d", p.Kind)
}

func translateExpr(e *policies.Expr) (condition, error) {
	switch {
	case e == nil:
		return nil, unknown("an empty condition")
	case e.Op != "":
		return translateOperation(e)
	case e.Var != "":
		a, err := attributeOf(e)
		if err != nil {
			return nil, err
		}
		if a.kind != kindBool {
			return nil, unknown("%s as a condition", e.Var)
		}
		return flag{a, true}, nil
	}
	if b, ok := e.Value.(bool); ok {
		return always(b), nil
	}
	return nil, unknown("a constant that is neither true nor false as a condition")
}

func translateOperation(e *policies.Expr) (condition, error) {
	switch e.Op {
	case "and", "or":
		if len(e.Args) == 0 {
			return nil, unknown("%q without operands", e.Op)
		}
		all := make([]condition, len(e.Args))
		for i, arg := range e.Args {
			var err error
			if all[i], err = translateExpr(arg); err != nil {
				return nil, err
			}
		}
		if e.Op == "and" {
			return and(all), nil
		}
		return or(all), nil
	case "not":
		if len(e.Args) != 1 {
			return nil, unknown("%q with %d operands", e.Op, len(e.Args))
		}
		c, err := translateExpr(e.Args[0])
		return not{c}, err
	case "eq", "in", "hasIntersection":
		if len(e.Args) != 2 {
			return nil, unknown("%q with %d operands", e.Op, len(e.Args))
		}
		for _, arg := range e.Args {
			if arg == nil || arg.Op != "" {
				return nil, unknown("%q over another expression", e.Op)
			}
		}
	}
	switch e.Op {
	case "eq":
		return equal(e.Args[0], e.Args[1])
	case "in":
		return element(e.Args[0], e.Args[1])
	case "hasIntersection":
		return intersection(e.Args[0], e.Args[1])
	}
	return nil, unknown("the operator %q", e.Op)
}

func equal(a, b *policies.Expr) (condition, error) {
	if a.Var == "" {
		a, b = b, a
	}
	left, err := attributeOf(a)
	if err != nil {
		return nil, err
	}
	if left.kind == kindApps {
		return nil, unknown("== over %s", a.Var)
	}
	if b.Var != "" {
		right, err := attributeOf(b)
		switch {
		case err != nil:
			return nil, err
		case right.kind == kindApps:
			return nil, unknown("== over %s", b.Var)
		case (left.kind == kindBool) != (right.kind == kindBool):
			return always(false), nil
		}
		return same{left, right}, nil
	}
	switch v := b.Value.(type) {
	case string:
		return oneOf(left, []string{v}), nil
	case bool:
		if left.kind == kindBool {
			return flag{left, v}, nil
		}
		return always(false), nil // values of different types are never equal
	case nil, float64:
		return always(false), nil
	}
	return nil, unknown("== with a %T", b.Value)
}

func element(a, b *policies.Expr) (condition, error) {
	if b.Var != "" {
		list, err := attributeOf(b)
		switch {
		case err != nil:
			return nil, err
		case list.kind != kindApps || a.Var != "":
			return nil, unknown("in over %s", b.Var)
		}
		id, ok := a.Value.(string)
		if !ok {
			return always(false), nil
		}
		return inApps{newIDList([]string{id})}, nil
	}
	left, err := attributeOf(a)
	if err != nil {
		return nil, err
	}
	if left.kind == kindApps {
		return nil, unknown("in over %s", a.Var)
	}
	list, ok := b.Value.([]any)
	if !ok {
		return nil, unknown("in with a %T", b.Value)
	}
	if left.kind == kindBool {
		var any or
		for _, v := range list {
			if v, ok := v.(bool); ok {
				any = append(any, flag{left, v})
			}
		}
		return any, nil
	}
	return oneOf(left, texts(list)), nil
}

func intersection(a, b *policies.Expr) (condition, error) {
	if a.Var == "" {
		a, b = b, a
	}
	left, err := attributeOf(a)
	if err != nil {
		return nil, err
	}
	if left.kind != kindApps {
		return nil, unknown("hasIntersection over %s", a.Var)
	}
	list, ok := b.Value.([]any)
	if b.Var != "" || !ok {
		return nil, unknown("hasIntersection with something that is not a list of values")
	}
	return inApps{newIDList(texts(list))}, nil
}

func attributeOf(e *policies.Expr) (attribute, error) {
	if e.Var == "" {
		return attribute{}, unknown("a comparison without an attribute")
	}
	a, ok := attributes[e.Var]
	if !ok {
		return attribute{}, unknown("the attribute %s", e.Var)
	}
	return a, nil
}

// texts are the strings of a list: nothing else equals an attribute of type text.
func texts(list []any) []string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (c and) sql(w *writer) string { return join(c, " and ", "true", w) }
func (c or) sql(w *writer) string  { return join(c, " or ", "false", w) }

func join(all []condition, by, empty string, w *writer) string {
	if len(all) == 0 {
		return empty
	}
	parts := make([]string, len(all))
	for i, c := range all {
		parts[i] = c.sql(w)
	}
	return "(" + strings.Join(parts, by) + ")"
}

func (c not) sql(w *writer) string { return "(not " + c.condition.sql(w) + ")" }

func (c always) sql(*writer) string {
	if c {
		return "true"
	}
	return "false"
}

// oneOf holds where a, a text or a uuid, is one of the values.
func oneOf(a attribute, values []string) condition {
	switch {
	case len(values) == 0 || a.kind == kindBool:
		return always(false)
	case a.kind == kindUUID:
		return among{a, newIDList(values)}
	}
	return in{a, values}
}

func (c in) sql(w *writer) string {
	return w.alias + "." + c.column + " = any(" + w.arg(c.values) + "::text[])"
}

func (c among) sql(w *writer) string { return c.ids.holds(w.alias+"."+c.column, w) }

func (c flag) sql(w *writer) string {
	if c.value {
		return w.alias + "." + c.column
	}
	return "(not " + w.alias + "." + c.column + ")"
}

func (c same) sql(w *writer) string {
	return w.alias + "." + c.a.column + "::text = " + w.alias + "." + c.b.column + "::text"
}

func (c inApps) sql(w *writer) string {
	if c.ids.n == 0 {
		return "false"
	}
	return "exists (select " + appsOf(w.alias) + " and " + c.ids.holds("app_of.app_id", w) + ")"
}

func (present) sql(w *writer) string { return w.alias + ".removed_at is null" }

func (floor) sql(w *writer) string {
	return w.alias + ".removed_at is null and not exists (select from dataset_switch off where off.dataset_id = " + w.alias + ".id and off.is_off)"
}

func (c raw) sql(*writer) string { return string(c) }

// An idList is a list of ids as PostgreSQL reads an array from text. The driver
// takes a hundred times as long to encode ten thousand ids one by one.
type idList struct {
	n     int
	array string
}

// newIDList leaves out what no uuid column equals: a single check compares text,
// so only the one spelling that our columns have counts.
func newIDList(values []string) idList {
	var (
		l idList
		b strings.Builder
	)
	b.Grow(37*len(values) + 2)
	for _, v := range values {
		if isUUID(v) {
			b.WriteByte("{,"[min(l.n, 1)])
			b.WriteString(v)
			l.n++
		}
	}
	b.WriteByte('}')
	l.array = b.String()
	return l
}

// many is from how many ids on it is better to look every row up in a hash table
// than to look every id up in an index.
const many = 1000

// holds is the condition that column is one of the ids.
func (l idList) holds(column string, w *writer) string {
	switch {
	case l.n == 0:
		return "false"
	case l.n < many:
		return column + " = any(" + w.arg(l.array) + "::uuid[])"
	}
	// A prepared plan would search an array from its start for each row. And as a
	// join, which "is true" keeps this from becoming, it would count on a hundred ids.
	return "(" + column + " in (select unnest(" + w.arg(l.array) + "::uuid[]))) is true"
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}
