package visibility

import (
	"fmt"
	"slices"
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

// A translator turns the plan of one principal into a condition.
type translator struct{ principal *policies.Principal }

func (t translator) plan(p policies.Plan) (condition, error) {
	switch p.Kind {
	case policies.Never:
		return always(false), nil
	case policies.Always:
		return always(true), nil
	case policies.Conditional:
		return t.expr(p.Cond)
	}
	return nil, unknown("a plan of kind %d", p.Kind)
}

func (t translator) expr(e *policies.Expr) (condition, error) {
	switch {
	case e == nil:
		return nil, unknown("an empty condition")
	case e.Op != "":
		return t.operation(e)
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

func (t translator) operation(e *policies.Expr) (condition, error) {
	switch e.Op {
	case "and", "or":
		if len(e.Args) == 0 {
			return nil, unknown("%q without operands", e.Op)
		}
		all := make([]condition, len(e.Args))
		for i, arg := range e.Args {
			var err error
			if all[i], err = t.expr(arg); err != nil {
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
		c, err := t.expr(e.Args[0])
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
		return t.equal(e.Args[0], e.Args[1])
	case "in":
		return t.element(e.Args[0], e.Args[1])
	case "hasIntersection":
		return t.intersection(e.Args[0], e.Args[1])
	}
	return nil, unknown("the operator %q", e.Op)
}

func (t translator) equal(a, b *policies.Expr) (condition, error) {
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
		return t.oneOf(left, []string{v}), nil
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

func (t translator) element(a, b *policies.Expr) (condition, error) {
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
		return inApps{t.ids([]string{id})}, nil
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
	return t.oneOf(left, texts(list)), nil
}

func (t translator) intersection(a, b *policies.Expr) (condition, error) {
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
	return inApps{t.ids(texts(list))}, nil
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

func (c and) sql(w *writer) string { return join(c, " and ", true, w) }
func (c or) sql(w *writer) string  { return join(c, " or ", false, w) }

// join leaves out what changes nothing, so that where one condition is left it
// stands by itself: PostgreSQL makes a join of an exists only where no or is around
// it, be its other side false, and looks each row up in a subplan otherwise, which
// takes three times as long. What is left out must not have asked for a
// placeholder, so it is found before anything is written.
func join(all []condition, by string, neutral bool, w *writer) string {
	var parts []condition
	for _, c := range all {
		switch holds, settled := outcome(c); {
		case !settled:
			parts = append(parts, c)
		case holds != neutral:
			return always(holds).sql(w)
		}
	}
	texts := make([]string, len(parts))
	for i, c := range parts {
		texts[i] = c.sql(w)
	}
	switch len(texts) {
	case 0:
		return always(neutral).sql(w)
	case 1:
		return texts[0]
	}
	return "(" + strings.Join(texts, by) + ")"
}

// outcome reports whether c holds for every row or for none, where that can be
// told without any.
func outcome(c condition) (holds, settled bool) {
	switch c := c.(type) {
	case always:
		return bool(c), true
	case among:
		return false, c.ids.n == 0
	case inApps:
		return false, c.ids.n == 0
	case not:
		holds, settled = outcome(c.condition)
		return !holds, settled
	case and:
		return outcomeOf(c, true)
	case or:
		return outcomeOf(c, false)
	}
	return false, false
}

// outcomeOf is that of conditions of which each is neutral or decides them all.
func outcomeOf(all []condition, neutral bool) (holds, settled bool) {
	settled = true
	for _, c := range all {
		one, known := outcome(c)
		if known && one != neutral {
			return one, true
		}
		settled = settled && known
	}
	return neutral, settled
}

func (c not) sql(w *writer) string { return "(not " + c.condition.sql(w) + ")" }

func (c always) sql(*writer) string {
	if c {
		return "true"
	}
	return "false"
}

// oneOf holds where a, a text or a uuid, is one of the values.
func (t translator) oneOf(a attribute, values []string) condition {
	switch {
	case len(values) == 0 || a.kind == kindBool:
		return always(false)
	case a.kind == kindUUID:
		return among{a, t.ids(values)}
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

// The few datasets that are off are hashed once: a join with a table that is
// nearly empty is planned as one scan of it for each row.
func (floor) sql(w *writer) string {
	return w.alias + ".removed_at is null and " + w.alias + ".id not in (select dataset_id from dataset_switch where is_off)"
}

func (c raw) sql(*writer) string { return string(c) }

// many is from how many ids on it is better to look every row up in a hash table
// than to look every id up in an index.
const many = 1000

// An idList is a list of ids. A long one that is all that Power BI lists for the
// principal does not travel: the database has it.
type idList struct {
	n     int
	array string // the ids, or where they do not travel the object ids of reach
	reach string // the kind of access list; empty for others
}

// ids leaves out what no uuid column equals: a single check compares text, so
// only the one spelling that our columns have counts.
func (t translator) ids(values []string) idList {
	if p := t.principal; len(values) >= many && len(p.ObjectIDs) > 0 && p.Kind == policies.Person {
		for kind, list := range map[string][]string{"dataset": p.DatasetIDs, "workspace": p.WorkspaceIDs, "app": p.AppIDs} {
			if slices.Equal(values, list) {
				n, array := arrayOf(p.ObjectIDs)
				return idList{n: n, array: array, reach: kind}
			}
		}
	}
	n, array := arrayOf(values)
	return idList{n: n, array: array}
}

// arrayOf is the uuids among values as PostgreSQL reads an array from text, and
// how many they are. The driver takes a hundred times as long to encode ten
// thousand ids one by one.
func arrayOf(values []string) (n int, array string) {
	var b strings.Builder
	b.Grow(37*len(values) + 2)
	for _, v := range values {
		if isUUID(v) {
			b.WriteByte("{,"[min(n, 1)])
			b.WriteString(v)
			n++
		}
	}
	b.WriteByte('}')
	return n, b.String()
}

// holds is the condition that column is one of the ids.
func (l idList) holds(column string, w *writer) string {
	switch {
	case l.n == 0:
		return "false"
	case l.reach != "":
		return "exists (select from powerbi_access reach where reach.item_kind = '" + l.reach + "' and reach.item_id = " + column +
			" and reach.object_id = any(" + w.arg(l.array) + "::uuid[]))"
	case l.n >= many:
		// A prepared plan would search an array from its start for each row. And as a
		// join, which "is true" keeps this from becoming, it would count on a hundred ids.
		return "(" + column + " in (select unnest(" + w.arg(l.array) + "::uuid[]))) is true"
	}
	return column + " = any(" + w.arg(l.array) + "::uuid[])"
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
