package visibility

import "github.com/pbmb/pbmb/policies"

// ReadsPII reports whether the principal sees what is marked as personal data: a
// person who holds pii_reader, and nobody else. A service account never does, and
// no policy is asked (PII-62, PII-63).
func (v *View) ReadsPII() bool {
	return v != nil && v.principal != nil && v.principal.Kind == policies.Person && v.principal.Has(policies.RolePIIReader)
}

// Columns returns the condition that holds for the columns that the principal may
// see as far as personal data goes. The aliases are those of a row of
// powerbi_column and of its row of powerbi_table. It is never null: a list counts
// what it left out (pii_hidden) as the rows where it does not hold.
func (v *View) Columns(column, table string) string {
	if v.ReadsPII() {
		return "true"
	}
	return "(not " + CoveredColumn(column, table) + ")"
}

// Measures does for rows of powerbi_measure what [View.Columns] does for columns.
func (v *View) Measures(measure, table string) string {
	if v.ReadsPII() {
		return "true"
	}
	return "(not " + CoveredMeasure(measure, table) + ")"
}

// CoveredColumn returns the condition that holds for columns that the rules on
// personal data cover: a rule on the column itself decides, and where there is
// none a rule on its table. The rules are read by the statement that it becomes
// part of, once and not for each row, so a change acts on the next request.
func CoveredColumn(column, table string) string {
	name := "(" + table + ".folded, " + column + ".folded)"
	return "(" + name + " in (select table_folded, name_folded from pii_rule where kind = 'column' and pii)" +
		" or (" + table + ".folded in (select table_folded from pii_rule where kind = 'table' and pii)" +
		" and " + name + " not in (select table_folded, name_folded from pii_rule where kind = 'column' and not pii)))"
}

// CoveredMeasure returns the condition that holds for measures that a rule marks
// by name. A rule on a table does not cover its measures.
func CoveredMeasure(measure, table string) string {
	return "((" + table + ".folded, " + measure + ".folded) in (select table_folded, name_folded from pii_rule where kind = 'measure' and pii))"
}
