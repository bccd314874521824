package diff

import "strings"

// renames tells whether two nodes of one shape differ in nothing but names that
// can be the two models' names for one thing.
func (c *comparer) renames(a, b *node) bool {
	if a.digest == b.digest {
		return true
	}
	if a.op.reference() {
		return a.op == b.op && c.renamed(a, b)
	}
	if c.budget--; c.budget <= 0 || a.op != b.op || a.name != b.name || len(a.kids) != len(b.kids) {
		return false
	}
	for i := range a.kids {
		if !c.renames(a.kids[i], b.kids[i]) {
			return false
		}
	}
	return true
}

// renamed tells whether two references can be two names of one thing: neither
// model has the name that the other has. Without models the names in the
// expressions tell.
func (c *comparer) renamed(a, b *node) bool {
	if c.a.side.Index == nil {
		return !c.b.names[a.ref()] && !c.a.names[b.ref()]
	}
	return !c.b.has(a) && !c.a.has(b)
}

// has tells whether the model of a form has what a reference of another form names.
func (f *Form) has(n *node) bool {
	table, name, _ := strings.Cut(n.name, "\x00")
	switch n.op {
	case opColumn:
		name, _, _ = strings.Cut(name, "\x00")
		return f.side.Index.HasColumn(table, name)
	case opMeasure:
		return f.side.Index.HasMeasure(n.name)
	case opTable:
		return f.side.Index.HasTable(n.name)
	}
	return f.names[n.ref()]
}

// nameReferences says of the references that stand in the same place whether they
// are renamed, always in the same way, or others.
func (c *comparer) nameReferences() {
	to, from := map[refKey]map[refKey]bool{}, map[refKey]map[refKey]bool{}
	note := func(m map[refKey]map[refKey]bool, x, y refKey) {
		if m[x] == nil {
			m[x] = map[refKey]bool{}
		}
		m[x][y] = true
	}
	for _, p := range c.pairs {
		note(to, p[0].ref(), p[1].ref())
		note(from, p[1].ref(), p[0].ref())
	}
	told := map[[2]refKey]bool{}
	for _, p := range c.pairs {
		a, b := p[0], p[1]
		key := [2]refKey{a.ref(), b.ref()}
		if told[key] {
			continue
		}
		told[key] = true
		if len(to[a.ref()]) == 1 && len(from[b.ref()]) == 1 && c.renamed(a, b) {
			c.add(Renamed, a, b, "%s in %s is called %s in %s.", a.text(), c.nameA, b.text(), c.nameB)
		} else {
			c.add(References, a, b, "It uses %s in %s and %s in %s.", a.text(), c.nameA, b.text(), c.nameB)
		}
	}
}
