package sample

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pbmb/pbmb/knowledge"
)

// What changes of a model take.
type (
	renamedTable struct {
		inTable
		inTo
	}
	renamedColumn struct {
		inColumn
		inTo
	}
	renamedMeasure struct {
		inMeasure
		inTo
	}
	editedColumn struct {
		inColumn
		inExpression
	}
	editedMeasure struct {
		inMeasure
		inExpression
	}
	addedMeasure struct {
		inTable
		Measure string `json:"measure" doc:"the name of the measure"`
		inExpression
	}
)

// modelChanges are those of tables, columns and measures. What a model links by
// itself follows a new name: relationships, roles, orders. Expressions keep the
// old one, as where it was done without a tool that looks after them.
func modelChanges() []Change {
	return []Change{
		declare("tables/rename", "table rename <dataset> <table> <to>", "renames a table; expressions keep the old name",
			func(t *Tenant, in renamedTable) error {
				return t.onModel(in.Dataset, func(e *draft) error { return e.renameTable(in.Table, in.To) })
			}),
		declare("tables/remove", "table remove <dataset> <table>", "removes a table and what hangs on it",
			func(t *Tenant, in inTable) error {
				return t.onModel(in.Dataset, func(e *draft) error { return e.removeTable(in.Table) })
			}),
		declare("columns/rename", "column rename <dataset> <table> <column> <to>", "renames a column; expressions keep the old name",
			func(t *Tenant, in renamedColumn) error {
				return t.onModel(in.Dataset, func(e *draft) error { return e.renameColumn(in.Table, in.Column, in.To) })
			}),
		declare("columns/remove", "column remove <dataset> <table> <column>", "removes a column and what hangs on it",
			func(t *Tenant, in inColumn) error {
				return t.onModel(in.Dataset, func(e *draft) error { return e.removeColumn(in.Table, in.Column) })
			}),
		declare("columns/expression", "column edit <dataset> <table> <column> <expression>", "changes the DAX of a calculated column",
			func(t *Tenant, in editedColumn) error {
				return t.onModel(in.Dataset, func(e *draft) error {
					c, err := e.column(in.Table, in.Column)
					if err != nil {
						return err
					}
					if c.Expression == "" {
						return fmt.Errorf("%s[%s] is no calculated column: it has rows and no expression", in.Table, in.Column)
					}
					return set(&c.Expression, "expression", in.Expression)
				})
			}),
		declare("measures/add", "measure add <dataset> <table> <measure> <expression>", "adds a measure",
			func(t *Tenant, in addedMeasure) error {
				return t.onModel(in.Dataset, func(e *draft) error {
					tbl, err := e.table(in.Table)
					if err != nil {
						return err
					}
					var m knowledge.Measure
					if err := errors.Join(e.free(in.Measure), set(&m.Name, "measure", in.Measure), set(&m.Expression, "expression", in.Expression)); err != nil {
						return err
					}
					tbl.Measures = append(tbl.Measures, m)
					return nil
				})
			}),
		declare("measures/rename", "measure rename <dataset> <measure> <to>", "renames a measure; expressions keep the old name",
			func(t *Tenant, in renamedMeasure) error {
				return t.onModel(in.Dataset, func(e *draft) error {
					tbl, i, err := e.measure(in.Measure)
					if err != nil {
						return err
					}
					if !same(in.Measure, in.To) {
						if err := e.free(in.To); err != nil {
							return err
						}
					}
					return set(&tbl.Measures[i].Name, "to", in.To)
				})
			}),
		declare("measures/remove", "measure remove <dataset> <measure>", "removes a measure",
			func(t *Tenant, in inMeasure) error {
				return t.onModel(in.Dataset, func(e *draft) error {
					tbl, i, err := e.measure(in.Measure)
					if err != nil {
						return err
					}
					tbl.Measures = slices.Delete(tbl.Measures, i, i+1)
					return nil
				})
			}),
		declare("measures/expression", "measure edit <dataset> <measure> <expression>", "changes the DAX of a measure",
			func(t *Tenant, in editedMeasure) error {
				return t.onModel(in.Dataset, func(e *draft) error {
					tbl, i, err := e.measure(in.Measure)
					if err != nil {
						return err
					}
					return set(&tbl.Measures[i].Expression, "expression", in.Expression)
				})
			}),
	}
}
