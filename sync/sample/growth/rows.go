package growth

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// How many rows the tables of a dataset have: those of the fact table, of the
// others, and the days.
const (
	factRows  = 60
	otherRows = 12
	dayRows   = 731
)

// firstDay is where the days start; they go on for two years.
var firstDay = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// Rows makes the rows of a dataset's tables, as its model has them now. A column
// that the plan did not make is filled by its type. Domain is that of the sign-in
// names of people.
func (p Plan) Rows(d Dataset, of *knowledge.Model, domain string) []*eval.Rows {
	m := p.maker(d)
	var list []*eval.Rows
	for i := range of.Tables {
		t := &of.Tables[i]
		if t.Expression != "" || len(t.Items) > 0 {
			continue
		}
		f := filler{plan: p, dataset: d, domain: domain, rand: p.rand("rows/"+t.Name, d.Workspace, d.Index), table: t, rows: eval.NewRows(t.Name)}
		f.n = otherRows
		switch {
		case i == 0:
			f.n = factRows
		case t.Name == m.dialect.days:
			f.n = dayRows
		}
		for _, c := range t.Columns {
			if c.Expression == "" {
				f.fill(c, m.kinds[t.Name+"/"+c.Name])
			}
		}
		list = append(list, f.rows)
	}
	return list
}

// A filler makes the rows of one table.
type filler struct {
	plan    Plan
	dataset Dataset
	domain  string
	rand    *rand.Rand
	table   *knowledge.Table
	rows    *eval.Rows
	n       int
}

func (f *filler) fill(c knowledge.Column, kind fieldKind) {
	if kind == unknown {
		kind = kindFor(c.DataType)
	}
	col := f.rows.Column(c.Name, c.DataType)
	for i := range f.n {
		f.cell(col, kind, c.Name, i)
	}
}

// kindFor is what a column has of which only the type is known.
func kindFor(t knowledge.DataType) fieldKind {
	switch t {
	case knowledge.DateTime:
		return aDay
	case knowledge.Decimal, knowledge.Double:
		return anAmount
	case knowledge.Int64:
		return aCount
	case knowledge.Boolean:
		return aFlag
	}
	return aText
}

func (f *filler) cell(c *column.Column, kind fieldKind, name string, row int) {
	r := f.rand
	switch kind {
	case aDay:
		day := r.IntN(dayRows)
		if f.n == dayRows {
			day = row
		}
		c.AppendTime(firstDay.AddDate(0, 0, day))
	case anAmount:
		c.Append(value.OfScaled(int64(100+r.IntN(90_000)) * 100))
	case aCount:
		c.AppendInt(int64(1 + r.IntN(40)))
	case aNumber:
		c.AppendInt(int64(10_000 + r.IntN(f.n)))
	case aKey:
		if f.n == factRows {
			row = r.IntN(otherRows)
		}
		c.AppendInt(int64(row + 1))
	case aFlag:
		c.AppendBool(r.IntN(2) == 0)
	case aThing:
		c.AppendText(pick(r, things) + " " + pick(r, classes))
	case aPersonName:
		c.AppendText(pick(r, firstNames) + " " + pick(r, lastNames))
	case anEmail:
		if f.table.Name == accessTable {
			member := f.plan.Person(f.plan.someone(r, f.dataset.place.block%Divisions))
			c.AppendText(member.Key + "@" + f.domain)
			return
		}
		c.AppendText(strings.ToLower(pick(r, firstNames)) + "@post.example")
	case aPhone:
		c.AppendText(fmt.Sprintf("+00 555 %04d", r.IntN(10_000)))
	case aBirthday:
		c.AppendTime(time.Date(1950+r.IntN(55), 1, 1+r.IntN(365), 0, 0, 0, 0, time.UTC))
	case aCountry:
		c.AppendText(pick(r, countries))
	case aRegion:
		c.AppendText(regions[row%len(regions)])
	case aCity:
		c.AppendText(pick(r, cities))
	case aColour:
		c.AppendText(pick(r, colours))
	case aState:
		c.AppendText(pick(r, states))
	case aClass:
		c.AppendText(pick(r, classes))
	default:
		c.AppendText(fmt.Sprintf("%s %d", name, 1+r.IntN(9)))
	}
}
