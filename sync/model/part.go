package model

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/sync/powerbi"
)

// The functions with VIEW in their names are answered for whoever may query a
// model, the others for those who may edit it.
const (
	relationships = "EVALUATE INFO.VIEW.RELATIONSHIPS()"
	tables        = "EVALUATE INFO.VIEW.TABLES()"
	groups        = "EVALUATE INFO.CALCULATIONGROUPS()"
	items         = "EVALUATE INFO.CALCULATIONITEMS()"
	functions     = "EVALUATE INFO.USERDEFINEDFUNCTIONS()"
)

// An asker runs DAX on one dataset as one person.
type asker struct {
	source         Source
	token, dataset string
	listed         *listed // where the tables were asked for
}

// listed is the answer to the query for tables, which two parts need.
type listed struct {
	names      map[int]string // by number
	precedence map[string]int // of those that are calculation groups, by name
	err        error
}

// rows runs one of the queries. An answer without one of the needed columns is not
// understood.
func (q *asker) rows(ctx context.Context, dax string, needed ...string) ([]row, error) {
	res, err := q.source.ExecuteQuery(ctx, q.token, q.dataset, dax)
	if err != nil {
		return nil, err
	}
	if res.Truncated != "" {
		return nil, fmt.Errorf("the answer to %s came cut off: %w", dax, powerbi.ErrShape)
	}
	at := map[string]int{}
	for i, c := range res.Columns {
		at[strings.ToLower(strings.Trim(c, "[]"))] = i
	}
	for _, column := range needed {
		if _, ok := at[column]; !ok && len(res.Rows) > 0 {
			return nil, fmt.Errorf("the answer to %s has no %s: %w", dax, column, powerbi.ErrShape)
		}
	}
	out := make([]row, len(res.Rows))
	for i, cells := range res.Rows {
		out[i] = row{at, cells}
	}
	return out, nil
}

// A row is one of an answer. Columns are named in lower case.
type row struct {
	at    map[string]int
	cells []any
}

func (r row) cell(column string) any {
	if i, ok := r.at[column]; ok && i < len(r.cells) {
		return r.cells[i]
	}
	return nil
}

func (r row) text(column string) string {
	s, _ := r.cell(column).(string)
	return s
}

func (r row) is(column, value string) bool { return strings.EqualFold(r.text(column), value) }

// number is a whole number; ok is false for a blank or anything else.
func (r row) number(column string) (n int, ok bool) {
	x, isNumber := r.cell(column).(json.Number)
	if !isNumber {
		return 0, false
	}
	i, err := x.Int64()
	return int(i), err == nil
}

// read reads one part and stores it.
func (a *attempt) read(ctx context.Context, q *asker, part knowledge.ModelPart) error {
	switch part {
	case knowledge.Relationships:
		seen, err := q.relationships(ctx)
		if err != nil {
			return err
		}
		return a.Store.AddRelationships(ctx, a.reading, seen)
	case knowledge.CalculationGroups:
		_, seen, err := q.tables(ctx)
		if err != nil {
			return err
		}
		_, err = a.Store.AddGroups(ctx, a.reading, seen)
		return err
	case knowledge.CalculationItems:
		// The names of the groups are read with them: tables are told by number.
		names, seen, err := q.tables(ctx)
		if err != nil {
			return err
		}
		known, err := a.Store.AddGroups(ctx, a.reading, seen)
		if err != nil {
			return err
		}
		found := map[string][]knowledge.CalculationItem{}
		if len(known) > 0 {
			if found, err = q.items(ctx, names); err != nil {
				return err
			}
		}
		return a.Store.SetItems(ctx, a.reading, found)
	}
	seen, err := q.functions(ctx)
	if err != nil {
		return err
	}
	return a.Store.SetFunctions(ctx, a.reading, seen)
}

func (q *asker) relationships(ctx context.Context) ([]knowledge.Relationship, error) {
	rows, err := q.rows(ctx, relationships, "fromtable", "fromcolumn", "totable", "tocolumn")
	if err != nil {
		return nil, err
	}
	var out []knowledge.Relationship
	for _, r := range rows {
		rel := knowledge.Relationship{
			Name:      r.text("name"),
			FromTable: r.text("fromtable"), FromColumn: r.text("fromcolumn"), ToTable: r.text("totable"), ToColumn: r.text("tocolumn"),
			BothFilter: r.is("crossfilteringbehavior", "BothDirections"),
			BothSecure: r.is("securityfilteringbehavior", "BothDirections"),
			FromOne:    r.is("fromcardinality", "One"),
			ToMany:     r.is("tocardinality", "Many"),
		}
		active, isBool := r.cell("isactive").(bool)
		rel.Inactive = isBool && !active
		if rel.FromTable == "" || rel.FromColumn == "" || rel.ToTable == "" || rel.ToColumn == "" {
			return nil, fmt.Errorf("a relationship without an end: %w", powerbi.ErrShape)
		}
		out = append(out, rel)
	}
	return out, nil
}

// tables gives the names of tables by number, and the precedence of those that
// are calculation groups. It asks once.
func (q *asker) tables(ctx context.Context) (names map[int]string, precedence map[string]int, err error) {
	if q.listed == nil {
		q.listed = &listed{names: map[int]string{}, precedence: map[string]int{}}
		q.listed.err = q.list(ctx, q.listed)
	}
	return q.listed.names, q.listed.precedence, q.listed.err
}

func (q *asker) list(ctx context.Context, into *listed) error {
	rows, err := q.rows(ctx, tables, "id", "name", "calculationgroupprecedence")
	if err != nil {
		return err
	}
	for _, r := range rows {
		id, ok := r.number("id")
		if !ok || r.text("name") == "" {
			return fmt.Errorf("a table without a number or a name: %w", powerbi.ErrShape)
		}
		into.names[id] = r.text("name")
		if p, ok := r.number("calculationgroupprecedence"); ok {
			into.precedence[r.text("name")] = p
		}
	}
	return nil
}

// items gives the items of every calculation group by the name of its table.
func (q *asker) items(ctx context.Context, names map[int]string) (map[string][]knowledge.CalculationItem, error) {
	rows, err := q.rows(ctx, groups, "id", "tableid")
	if err != nil {
		return nil, err
	}
	out, tableOf := map[string][]knowledge.CalculationItem{}, map[int]string{}
	for _, r := range rows {
		id, hasID := r.number("id")
		table, hasTable := r.number("tableid")
		name, known := names[table]
		if !hasID || !hasTable || !known {
			return nil, fmt.Errorf("a calculation group of no table: %w", powerbi.ErrShape)
		}
		tableOf[id], out[name] = name, []knowledge.CalculationItem{}
	}
	if rows, err = q.rows(ctx, items, "calculationgroupid", "name", "expression"); err != nil {
		return nil, err
	}
	for _, r := range rows {
		group, _ := r.number("calculationgroupid")
		table, known := tableOf[group]
		if !known || r.text("name") == "" {
			return nil, fmt.Errorf("a calculation item of no group: %w", powerbi.ErrShape)
		}
		ordinal, _ := r.number("ordinal")
		out[table] = append(out[table], knowledge.CalculationItem{Name: r.text("name"), Expression: r.text("expression"), Ordinal: ordinal})
	}
	return out, nil
}

func (q *asker) functions(ctx context.Context) ([]knowledge.Function, error) {
	rows, err := q.rows(ctx, functions, "name", "expression")
	if err != nil {
		return nil, err
	}
	var out []knowledge.Function
	for _, r := range rows {
		if r.text("name") == "" {
			return nil, fmt.Errorf("a function without a name: %w", powerbi.ErrShape)
		}
		out = append(out, knowledge.Function{Name: r.text("name"), Expression: r.text("expression")})
	}
	return out, nil
}
