package pii

import "github.com/pbmb/pbmb/knowledge"

// spread carries marks over relationships, active and inactive alike: a joined
// column holds the values of the column that it is joined to. A table whose key
// holds them can be read by them, so its other columns say something about the
// person too; they do not spread further.
func (c *Coverage) spread(relationships []knowledge.Relationship) {
	joins := make(map[columnKey][]columnKey, len(relationships)*2)
	for _, r := range relationships {
		from := columnKey{knowledge.Fold(r.FromTable), knowledge.Fold(r.FromColumn)}
		to := columnKey{knowledge.Fold(r.ToTable), knowledge.Fold(r.ToColumn)}
		joins[from] = append(joins[from], to)
		joins[to] = append(joins[to], from)
	}

	reached := map[columnKey]bool{}
	var queue []columnKey
	for name, t := range c.tables {
		for col, column := range t.columns {
			if key := (columnKey{name, col}); column.marked {
				reached[key] = true
				queue = append(queue, key)
			}
		}
	}
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		for _, next := range joins[key] {
			if col := c.column(next); reached[next] || col != nil && col.released {
				continue
			}
			reached[next] = true
			c.joinedTo[next] = key
			queue = append(queue, next)
			// A clear says that the column is harmless by itself; its values are
			// those of the marked column all the same.
			if col := c.column(next); col != nil {
				col.joined = true
			}
		}
	}

	for _, r := range relationships {
		from := columnKey{knowledge.Fold(r.FromTable), knowledge.Fold(r.FromColumn)}
		to := columnKey{knowledge.Fold(r.ToTable), knowledge.Fold(r.ToColumn)}
		if t := c.tables[to[0]]; t != nil && !t.released && !r.ToMany && reached[to] {
			t.keyed, t.key = true, to
		}
		if t := c.tables[from[0]]; t != nil && !t.released && r.FromOne && reached[from] {
			t.keyed, t.key = true, from
		}
	}

	for _, t := range c.tables {
		t.touched = t.ruled || t.keyed
		for _, col := range t.columns {
			t.touched = t.touched || col.marked || col.joined
		}
	}
}

func (c *Coverage) column(key columnKey) *column {
	if t := c.tables[key[0]]; t != nil {
		return t.columns[key[1]]
	}
	return nil
}
