package pii

import (
	"strings"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// An OutputColumn is a column of a query's answer.
type OutputColumn struct {
	Key     string       // as the answer names it: Table[Column], or [Name]
	From    []dax.Source // the columns and measures whose values may be in it
	Unknown bool         // values may come from elsewhere too
}

// Lineage says where the columns of a query's first answer come from. Open means
// that the answer may have columns beyond these. The error is that of the parser;
// names that are not known only make columns unknown.
func Lineage(query string, m *knowledge.Model) (columns []OutputColumn, open bool, err error) {
	q, err := dax.ParseQuery(query)
	if err != nil {
		return nil, false, err
	}
	res, _ := dax.Resolve(q, m)
	columns, open = outputs(res)
	return columns, open, nil
}

func outputs(res *dax.Resolution) (columns []OutputColumn, open bool) {
	if len(res.Results) == 0 {
		return nil, true
	}
	r := res.Results[0]
	for _, c := range r.Columns {
		columns = append(columns, OutputColumn{Key: c.Key, From: c.From, Unknown: c.Unknown})
	}
	return columns, r.Open || !r.Table
}

// CheckHeader compares the column keys of an answer with the rules and with where
// the query's columns come from, before anything of the answer is kept. It finds
// what the check of the query could have missed: nil means that every column is
// one that was expected and is free.
func CheckHeader(keys []string, query string, m *knowledge.Model, c *Coverage) *Refusal {
	if !c.any {
		return nil
	}
	q, err := dax.ParseQuery(query)
	if err != nil {
		return unreadable(err)
	}
	res, _ := c.index.Resolve(q)
	columns, open := outputs(res)
	// A table that the query defines may put its name before the columns that it
	// adds, so a column counts as expected by its name alone too.
	byKey, byName := map[string][]OutputColumn{}, map[string][]OutputColumn{}
	for _, o := range columns {
		key := knowledge.Fold(o.Key)
		byKey[key] = append(byKey[key], o)
		name := knowledge.Fold(keyName(o.Key))
		byName[name] = append(byName[name], o)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	var found []finding
	for _, key := range keys {
		if x, err := dax.ParseExpr(key); err == nil {
			if ref, ok := x.(*dax.Ref); ok && ref.HasTable {
				if cause, covered := c.columnCause(ref.Table, ref.Name); covered {
					found = append(found, finding{cause: cause, element: c.spelled(ref.Table, ref.Name)})
					continue
				}
			}
		} else if ref, err := ParseReference(key, false); err == nil && ref.Kind == Column {
			// Answers write table names without quotes, blanks in them or not.
			if cause, covered := c.columnCause(ref.Table, ref.Name); covered {
				found = append(found, finding{cause: cause, element: c.spelled(ref.Table, ref.Name)})
				continue
			}
		}
		from := byKey[knowledge.Fold(key)]
		if from == nil {
			from = byKey[knowledge.Fold(keyName(key))] // [Customer[City]]
		}
		if from == nil {
			from = byName[knowledge.Fold(keyName(key))]
		}
		if from == nil && !open {
			found = append(found, finding{cause: NotKnown, element: key})
		}
		for _, o := range from {
			for _, s := range o.From {
				if s.Measure {
					if c.Measure(s.Table, s.Name) {
						found = append(found, finding{cause: Marked, element: s.String()})
					}
				} else if cause, covered := c.columnCause(s.Table, s.Name); covered {
					found = append(found, finding{cause: cause, element: s.String()})
				}
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return c.refusal(found, res)
}

// keyName is the name of the column in a key: what stands in its brackets.
func keyName(key string) string {
	if i := strings.IndexByte(key, '['); i >= 0 && strings.HasSuffix(key, "]") {
		return key[i+1 : len(key)-1]
	}
	return key
}

// spelled is a column as the model spells it.
func (c *Coverage) spelled(tableName, name string) string {
	if t := c.tables[knowledge.Fold(tableName)]; t != nil {
		tableName = t.Name
		if col := t.columns[knowledge.Fold(name)]; col != nil {
			name = col.Name
		}
	}
	return tableName + "[" + name + "]"
}
