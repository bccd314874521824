package growth

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/pbmb/pbmb/knowledge"
)

// rolesFrom is from how many columns on a dataset can have row-level security: it
// takes the table of regions and that of who sees which.
const rolesFrom = 24

// Model makes the model of a dataset. Edits is how often it changed since the
// tenant started: each edit changes something of it for good, the same each time.
func (p Plan) Model(d Dataset, edits int) *knowledge.Model {
	m := p.maker(d)
	measures, _ := p.sizeOf(d.place, d.Index)
	m.model.Tables[0].Measures = m.measures(measures)
	for n := range edits {
		m.edit(n)
	}
	return m.model
}

// maker makes the tables and roles of a dataset; its measures come after them.
func (p Plan) maker(d Dataset) *maker {
	_, columns := p.sizeOf(d.place, d.Index)
	m := &maker{
		rand: p.rand("model", d.Workspace, d.Index), theme: &themes[d.theme], left: columns,
		model: &knowledge.Model{Name: d.Name, RelationshipsKnown: true}, kinds: map[string]fieldKind{},
	}
	m.dialect = dialect{compact: m.rand.IntN(4) == 0, tight: m.rand.IntN(3) == 0, days: "Date"}
	if m.rand.IntN(3) == 0 {
		m.dialect.days = "Calendar"
	}
	fact := m.theme.facts[0]
	if m.rand.IntN(2) == 0 {
		fact = pick(m.rand, m.theme.facts)
	}
	m.tables(fact, d.Roles)
	if d.Roles {
		m.roles()
	}
	return m
}

// A dialect is how the author of a dataset writes.
type dialect struct {
	compact bool   // column names without spaces
	tight   bool   // no spaces around brackets
	days    string // the name of the table of days
}

// A maker makes one model.
type maker struct {
	rand    *rand.Rand
	theme   *theme
	dialect dialect
	model   *knowledge.Model
	left    int // columns yet to be made
	core    int // columns of the theme that the fact table has
	days    bool
	kinds   map[string]fieldKind // by table, slash and column
	names   *strings.Replacer    // what stands in templates
}

// column writes a column's name as the dialect has it.
func (m *maker) column(name string) string {
	if !m.dialect.compact {
		return name
	}
	words := strings.Fields(name)
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

func quoteTable(name string) string { return "'" + name + "'" }

// tables makes all tables: the facts first.
func (m *maker) tables(fact string, roles bool) {
	m.add(fact, m.theme.core, "")
	m.core = len(m.model.Tables[0].Columns)
	if m.left >= 5 {
		m.days = true
		m.add(m.dialect.days, days, "Date")
		m.relate(m.theme.core[0].name, m.dialect.days, "Date")
	}
	if roles {
		m.keyed(region)
		m.access()
	}
	for _, dim := range m.theme.tables {
		if m.left >= 4 && !m.has(dim.name) {
			m.keyed(dim)
		}
	}
	if m.left > 0 {
		m.fill(0, extras, "")
	}
	for _, suffix := range leftovers {
		for _, dim := range m.theme.tables {
			if m.left > 0 {
				m.add(dim.name+" "+suffix, dim.fields, "")
			}
		}
	}
	pairs := []string{"{F}", m.reference(fact), "{D}", m.reference(m.dialect.days) + "[Date]"}
	for _, f := range m.theme.core {
		pairs = append(pairs, "["+f.name+"]", "["+m.column(f.name)+"]")
	}
	m.names = strings.NewReplacer(pairs...)
}

// reference is a table's name as DAX takes it, with quotes where it needs them.
func (m *maker) reference(table string) string {
	if strings.Contains(table, " ") || table == "Date" || table == "Calendar" {
		return quoteTable(table)
	}
	return table
}

func (m *maker) has(table string) bool {
	for i := range m.model.Tables {
		if m.model.Tables[i].Name == table {
			return true
		}
	}
	return false
}

// add makes a table of as many of the fields as there are columns left.
func (m *maker) add(name string, fields []field, key string) {
	t := knowledge.Table{Name: name, Hidden: strings.HasSuffix(name, " staging")}
	if m.rand.IntN(3) == 0 {
		t.Description = "One row for each line of " + strings.ToLower(name) + "."
	}
	m.model.Tables = append(m.model.Tables, t)
	m.fill(len(m.model.Tables)-1, fields, key)
}

func (m *maker) fill(at int, fields []field, key string) {
	t := &m.model.Tables[at]
	for _, f := range fields[:min(len(fields), m.left)] {
		c := knowledge.Column{Name: m.column(f.name), Description: f.says, DataType: f.kind.dataType(), Key: key != "" && f.name == key, Hidden: f.kind == aKey}
		if f.expr != "" {
			c.Expression = m.calculated(f.expr, t.Name, fields)
		}
		t.Columns = append(t.Columns, c)
		m.kinds[t.Name+"/"+c.Name] = f.kind
		m.left--
	}
}

// calculated writes the expression of a calculated column.
func (m *maker) calculated(expr, table string, fields []field) string {
	expr = strings.ReplaceAll(expr, "{T}", quoteTable(table))
	if m.dialect.compact {
		for _, f := range fields {
			expr = strings.ReplaceAll(expr, "["+f.name+"]", "["+m.column(f.name)+"]")
		}
	}
	return expr
}

// keyed makes a dimension with a key, and the column of the fact table that leads
// to it.
func (m *maker) keyed(dim dimension) {
	key := strings.ReplaceAll(dim.name, " ", "") + "Key"
	fact := &m.model.Tables[0]
	fact.Columns = append(fact.Columns, knowledge.Column{Name: key, DataType: knowledge.Int64, Hidden: true})
	m.kinds[fact.Name+"/"+key] = aKey
	m.left--
	fields := append([]field{{name: key, kind: aKey}}, dim.fields...)
	if n := m.rand.IntN(len(dim.fields)); len(fields) > 6 && n > 4 {
		fields = fields[:n+1] // not every copy has everything
	}
	m.add(dim.name, fields, key)
	m.relate(key, dim.name, key)
}

// relate joins a column of the fact table to the key of another table.
func (m *maker) relate(column, table, key string) {
	m.model.Relationships = append(m.model.Relationships, knowledge.Relationship{
		Name:      uuid.NewSHA1(uuid.NameSpaceOID, []byte(column+"/"+table)).String(),
		FromTable: m.model.Tables[0].Name, FromColumn: m.column(column), ToTable: table, ToColumn: m.column(key),
	})
}

const accessTable = "User access"

// access makes the hidden table of who sees which region.
func (m *maker) access() {
	m.add(accessTable, []field{{name: "UserEmail", kind: anEmail}, {name: "Region", kind: aRegion}}, "")
	t := &m.model.Tables[len(m.model.Tables)-1]
	t.Hidden, t.Description = true, ""
	m.model.Relationships = append(m.model.Relationships, knowledge.Relationship{
		Name: "access", FromTable: accessTable, FromColumn: "Region", ToTable: region.name, ToColumn: "Region",
		BothFilter: true, BothSecure: true,
	})
}

// The roles of every dataset that has row-level security, beside those of single
// countries: one for everybody's own regions, and one that nothing restricts.
const (
	OwnRegions = "By region"
	AllRegions = "All regions"
)

// roles makes the security of a dataset.
func (m *maker) roles() {
	m.model.Roles = append(m.model.Roles,
		knowledge.Role{Name: OwnRegions, Tables: []knowledge.TablePermission{{Table: accessTable, Filter: "[UserEmail] = USERPRINCIPALNAME ()"}}},
		knowledge.Role{Name: AllRegions},
	)
	for n := range m.rand.IntN(4) {
		country := countries[n]
		m.model.Roles = append(m.model.Roles, knowledge.Role{
			Name: country, Tables: []knowledge.TablePermission{{Table: region.name, Filter: fmt.Sprintf("[Country] = %q", country)}},
		})
	}
}

const editMark = " + 0 * " // before the number of the edit

// edit changes a model once more.
func (m *maker) edit(n int) {
	fact := &m.model.Tables[0]
	switch list := fact.Measures; {
	case n%3 == 0 && len(list) > 0:
		i := (7 * n) % len(list)
		before, _, _ := strings.Cut(list[i].Expression, editMark)
		list[i].Expression = before + editMark + strconv.Itoa(n)
		list[i].Description = fmt.Sprintf("Changed %d times.", n+1)
	case n%3 == 1:
		fact.Columns = append(fact.Columns, knowledge.Column{Name: fmt.Sprintf("Added %d", n), DataType: knowledge.String})
	default:
		fact.Description = fmt.Sprintf("Looked over %d times.", n+1)
	}
}
