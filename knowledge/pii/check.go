package pii

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// Check looks for personal data in a query of someone who may not read it. It
// gives nil where the query passes. On a model that no rule covers every query
// passes, readable or not.
//
// The check is by name: to read a column of a model, DAX has to name it, its table
// or something whose own DAX names it. So every name in the query is looked up,
// wherever it stands, and what is not known refuses. Functions that read more than
// their arguments name are refused by a closed list of those that do not.
//
// The model must be the one that the coverage was made of.
func Check(query string, m *knowledge.Model, c *Coverage) *Refusal {
	if !c.any {
		return nil
	}
	q, err := dax.ParseQuery(query)
	if err != nil {
		return unreadable(err)
	}
	res, err := c.index.Resolve(q)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refusal(c.check(q, res, err), res)
}

func unreadable(err error) *Refusal {
	r := &Refusal{Cause: Unreadable, Detail: err.Error()}
	f := Finding{Cause: Unreadable}
	if errs, ok := errors.AsType[*dax.Errors](err); ok {
		p := errs.List[0]
		r.Detail = p.String()
		f.Line, f.Column = p.Pos.Line, p.Pos.Column
	}
	r.Findings = []Finding{f}
	return r
}

// refusal makes one of what was found.
func (c *Coverage) refusal(found []finding, res *dax.Resolution) *Refusal {
	if len(found) == 0 {
		switch {
		case !c.relations && c.dependsOnRelationships(res):
			return &Refusal{Cause: RelationshipsNotKnown, Findings: []Finding{{Cause: RelationshipsNotKnown}}}
		case c.groupsUnread && uses(res):
			return &Refusal{Cause: ItemsNotKnown, Findings: []Finding{{Cause: ItemsNotKnown}}}
		}
		return nil
	}
	slices.SortStableFunc(found, func(a, b finding) int { return a.pos.Offset - b.pos.Offset })
	r := &Refusal{Cause: found[0].cause}
	type once struct {
		cause   Cause
		element string
	}
	elements, findings := map[string]bool{}, map[once]bool{}
	for _, f := range found {
		if f.element != "" && !elements[f.element] {
			elements[f.element] = true
			r.Elements = append(r.Elements, f.element)
		}
		if key := (once{f.cause, f.element}); !findings[key] {
			findings[key] = true
			r.Findings = append(r.Findings, Finding{Cause: f.cause, Element: f.element, Line: f.pos.Line, Column: f.pos.Column})
		}
		if f.cause == Unreadable && r.Detail == "" {
			r.Detail = f.detail
		}
	}
	return r
}

// dependsOnRelationships tells whether relationships could spread marks to what a
// query uses.
func (c *Coverage) dependsOnRelationships(res *dax.Resolution) bool {
	if len(c.tables) < 2 {
		return false
	}
	marked := false
	for _, t := range c.tables {
		marked = marked || t.marked
	}
	return marked && uses(res)
}

// uses tells whether a query uses anything of the model.
func uses(res *dax.Resolution) bool {
	if len(res.Mentioned) > 0 {
		return true
	}
	for _, list := range res.Refs {
		for _, b := range list {
			if b.Kind == dax.BoundMeasure || b.Kind == dax.BoundColumn {
				return true
			}
		}
	}
	for _, b := range res.Calls {
		if b.Model != nil {
			return true
		}
	}
	return false
}

// finding is a Finding in the making.
type finding struct {
	cause   Cause
	element string
	pos     dax.Pos
	detail  string
}

// checker looks through one text: the query, or the DAX of something in the model
// that the query uses.
type checker struct {
	c     *Coverage
	res   *dax.Resolution
	found []finding

	// named are the columns that may not be read, by folded name, of the tables
	// that the text mentions: what a name in brackets could mean.
	named map[string][]Ref

	columns map[columnUse]bool // whether a column that was judged is refused
	dates   *bool              // whether a column that may not be read may be a date
}

// A columnUse is a column as it is referred to. What is found of it is the same
// wherever it stands, and only the first place is told.
type columnUse struct {
	table, name string
	varies      bool
}

// check finds everything in a text that is refused.
func (c *Coverage) check(n dax.Node, res *dax.Resolution, resolveErr error) []finding {
	k := &checker{c: c, res: res, named: map[string][]Ref{}, columns: map[columnUse]bool{}}
	for _, name := range res.Mentioned {
		t := c.tables[knowledge.Fold(name)]
		if t == nil || !c.tableCause(t) {
			continue
		}
		for folded, col := range t.columns {
			if _, covered := c.columnCause(t.Name, col.Name); covered {
				k.named[folded] = append(k.named[folded], Ref{Column, t.Name, col.Name})
			}
		}
	}
	for _, use := range res.Tables {
		k.table(use)
	}
	dax.Walk(n, func(n dax.Node) bool {
		switch n := n.(type) {
		case *dax.Ref:
			k.ref(n)
		case *dax.Name:
			if _, ok := res.Names[n]; !ok {
				k.add(NotKnown, n.Value, n)
			}
		case *dax.Call:
			k.call(n)
		case *dax.Parameter:
			k.add(NotKnown, "@"+n.Name, n)
		case *dax.Definition:
			if n.Kind == dax.DefineMParameter {
				k.add(Reader, string(dax.DefineMParameter), n)
			}
		}
		return true
	})
	if len(k.found) == 0 {
		k.results(n)
	}
	if len(k.found) == 0 && resolveErr != nil {
		// A name that is not known anywhere else, such as the home of a measure.
		f := finding{cause: Unreadable, detail: resolveErr.Error()}
		if errs, ok := errors.AsType[*dax.Errors](resolveErr); ok {
			f.pos = errs.List[0].Pos
			f.detail = errs.List[0].Message
		}
		k.found = append(k.found, f)
	}
	return k.found
}

// results refuses a query that gives its own column the name of a marked one: the
// answer could not be told from one with marked values.
func (k *checker) results(n dax.Node) {
	q, ok := n.(*dax.Query)
	if !ok {
		return
	}
	seen := map[columnUse]bool{}
	for i, r := range k.res.Results {
		for j := range r.Columns {
			col := &r.Columns[j]
			use := columnUse{table: col.Table, name: col.Name}
			if col.Table == "" || seen[use] {
				continue
			}
			seen[use] = true
			if cause, covered := k.c.columnCause(col.Table, col.Name); covered {
				k.add(cause, k.c.spelled(col.Table, col.Name), q.Evaluates[i])
			}
		}
	}
}

func (k *checker) add(cause Cause, element string, n dax.Node) {
	k.found = append(k.found, finding{cause: cause, element: legible(element), pos: n.Pos()})
}

// legible cuts a name to what a sentence can hold, and replaces what would not
// show. Names that are not known are as the query has them.
func legible(name string) string {
	const most = 120
	n := 0
	return strings.Map(func(r rune) rune {
		switch n++; {
		case n == most:
			return '…'
		case n > most:
			return -1
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029:
			return '\uFFFD'
		}
		return r
	}, name)
}

// table judges the use of a whole table.
func (k *checker) table(use dax.TableUse) {
	t := k.c.tables[knowledge.Fold(use.Table)]
	if t == nil {
		return
	}
	if k.c.tableCause(t) {
		k.add(WholeTable, t.Name, use.Node)
	}
	k.group(t, t.Name, use.Node)
}

// group judges the use of a calculation group: filtering it runs its items.
func (k *checker) group(t *table, element string, n dax.Node) {
	switch {
	case t.Group && k.c.itemsUnread:
		k.add(ItemsNotKnown, element, n)
	case len(t.Items) > 0 && len(k.c.itemFindings(t)) > 0:
		k.add(Item, element, n)
	}
}

// column judges a reference to a column and tells whether it is refused.
func (k *checker) column(tableName, name string, n dax.Node) bool {
	use := columnUse{tableName, name, varies(n)}
	refused, known := k.columns[use]
	if !known {
		refused = k.judge(tableName, name, n)
		k.columns[use] = refused
	}
	return refused
}

func (k *checker) judge(tableName, name string, n dax.Node) bool {
	if t := k.c.tables[knowledge.Fold(tableName)]; t != nil {
		tableName = t.Name
		if col := t.columns[knowledge.Fold(name)]; col != nil {
			name = col.Name
			for _, v := range col.Variations {
				if hidden := k.c.tables[knowledge.Fold(v.Table)]; hidden != nil && k.c.tableCause(hidden) {
					if _, covered := k.c.columnCause(tableName, name); !covered && varies(n) {
						k.add(Joined, tableName+"["+name+"]", n)
						return true
					}
				}
			}
		}
		k.group(t, tableName+"["+name+"]", n)
	}
	cause, covered := k.c.columnCause(tableName, name)
	if covered {
		k.add(cause, tableName+"["+name+"]", n)
	}
	return covered
}

// varies tells whether a reference goes on to a variation of its column.
func varies(n dax.Node) bool {
	ref, ok := n.(*dax.Ref)
	return ok && ref.Variation != ""
}

// ref judges T[x] or [x].
func (k *checker) ref(n *dax.Ref) {
	bound := k.res.Refs[n]
	if n.HasTable {
		k.tableRef(n, bound)
		return
	}
	refused := false
	certain := len(bound) > 0
	for _, b := range bound {
		switch b.Kind {
		case dax.BoundColumn:
			refused = k.column(b.Table, b.Name, n) || refused
		case dax.BoundMeasure:
			certain = false
			refused = k.measure(b, n) || refused
		case dax.BoundNewColumn:
		default:
			certain = false
		}
	}
	if refused || certain {
		return
	}
	folded := knowledge.Fold(n.Name)
	for _, r := range k.named[folded] {
		refused = k.column(r.Table, r.Name, n) || refused
	}
	if len(bound) == 0 && !refused {
		k.add(NotKnown, "["+n.Name+"]", n)
	}
}

// tableRef judges T[x]. Whatever the query defines under that name, the column of
// the model is judged too.
func (k *checker) tableRef(n *dax.Ref, bound []dax.Binding) {
	if len(bound) == 1 && bound[0] == (dax.Binding{Kind: dax.BoundColumn, Table: n.Table, Name: n.Name}) {
		k.column(n.Table, n.Name, n) // nothing else has this name
		return
	}
	t := k.c.tables[knowledge.Fold(n.Table)]
	settled := false // it is not a column of the model
	for _, b := range bound {
		switch b.Kind {
		case dax.BoundColumn:
			k.column(b.Table, b.Name, n)
		case dax.BoundMeasure:
			settled = true
			k.measure(b, n)
		case dax.BoundQueryColumn, dax.BoundQueryMeasure:
			settled = settled || b.Name == n.Name
		case dax.BoundOpen:
			for _, r := range k.named[knowledge.Fold(n.Name)] {
				k.column(r.Table, r.Name, n)
			}
		}
	}
	if t == nil {
		if len(bound) == 0 {
			// A rule may name what the mirror does not know yet.
			if !k.column(n.Table, n.Name, n) {
				k.add(NotKnown, n.Table+"["+n.Name+"]", n)
			}
		}
		return
	}
	if t.columns[knowledge.Fold(n.Name)] != nil {
		return // judged as bound
	}
	switch {
	case settled:
	case k.column(n.Table, n.Name, n):
	case len(bound) == 0:
		k.add(NotKnown, t.Name+"["+n.Name+"]", n)
	}
}

// measure judges a reference to a measure of the model and tells whether it is
// refused.
func (k *checker) measure(b dax.Binding, n *dax.Ref) bool {
	element := b.Table + "[" + b.Name + "]"
	// Written in another width, the name could be that of a column which is not in
	// the mirror yet.
	if letterFold(b.Name) != letterFold(n.Name) {
		written := "[" + n.Name + "]"
		if n.HasTable {
			written = n.Table + written
		}
		k.add(NotKnown, written, n)
		return true
	}
	if k.c.Measure(b.Table, b.Name) {
		k.add(Marked, element, n)
		return true
	}
	if k.c.measureVerdict(b.Table, b.Name) != free {
		k.add(ValueMeasure, element, n)
		return true
	}
	return false
}

// letterFold is the form in which names are compared where width matters.
func letterFold(s string) string { return cases.Fold().String(s) }

// call judges the function of a call.
func (k *checker) call(n *dax.Call) {
	b, ok := k.res.Calls[n]
	if !ok {
		if strings.HasPrefix(knowledge.Fold(n.Func), "info.") {
			k.add(Reader, n.Func, n)
		} else if k.c.functionsUnread {
			k.add(FunctionsNotKnown, n.Func+"()", n)
		} else {
			k.add(NotKnown, n.Func+"()", n)
		}
		return
	}
	if b.Builtin != nil {
		switch {
		case harmless(b.Builtin.Reads):
		case b.Builtin.Reads == dax.ReadsDateColumns && !k.coveredDates():
		default:
			k.add(Reader, b.Builtin.Name, n)
		}
	}
	if b.Model != nil && len(k.c.functionFindings(b.Model)) > 0 {
		k.add(UserFunction, b.Model.Name, n)
	}
}

// coveredDates tells whether a column that may not be read may be a date.
func (k *checker) coveredDates() bool {
	if k.dates == nil {
		covered := k.c.coveredDates()
		k.dates = &covered
	}
	return *k.dates
}

func (c *Coverage) coveredDates() bool {
	for _, t := range c.tables {
		for _, col := range t.columns {
			switch col.DataType {
			case knowledge.DateTime, knowledge.Variant, "":
				if _, covered := c.columnCause(t.Name, col.Name); covered {
					return true
				}
			}
		}
	}
	return false
}

// groupKey is a calculation group among what has DAX of its own.
func groupKey(t *table) string { return "group " + knowledge.Fold(t.Name) }

// itemFindings checks the DAX of the items of a calculation group.
func (c *Coverage) itemFindings(t *table) []finding {
	return c.inside(groupKey(t), func() []finding {
		var found []finding
		for _, item := range t.Items {
			x, err := dax.ParseExpr(item.Expression)
			if err != nil {
				found = append(found, finding{cause: Unreadable})
				continue
			}
			res, err := c.index.ResolveExpr(x, "", false)
			found = append(found, c.check(x, res, err)...)
		}
		return found
	})
}

// functionFindings checks the DAX of a function of the model.
func (c *Coverage) functionFindings(f *knowledge.Function) []finding {
	return c.inside("function "+knowledge.Fold(f.Name), func() []finding {
		d, err := dax.ParseFunction(f.Name, f.Expression)
		if err != nil {
			return []finding{{cause: Unreadable}}
		}
		res, err := c.index.ResolveFunction(d)
		return c.check(d, res, err)
	})
}

// inside checks something of the model that has DAX of its own, and keeps what it
// finds. Items and functions may lead to each other and back: what is being
// checked already adds nothing to itself, but what is found on the way there is
// not the whole truth about the others, so only the outermost is kept.
func (c *Coverage) inside(key string, check func() []finding) []finding {
	if found, ok := c.inner[key]; ok {
		return found
	}
	if c.visiting == nil {
		c.visiting = map[string][]finding{}
		defer func() { c.visiting = nil }()
	} else if found, ok := c.visiting[key]; ok {
		return found
	}
	outermost := len(c.visiting) == 0
	c.visiting[key] = nil
	found := check()
	c.visiting[key] = found
	if outermost {
		c.inner[key] = found
	}
	return found
}
