package dax

import "github.com/pbmb/pbmb/knowledge"

// HasTable tells whether the model has a table, however its name is written.
func (ix *Index) HasTable(name string) bool { return ix.tables[knowledge.Fold(name)] != nil }

// HasColumn tells whether the model has a column.
func (ix *Index) HasColumn(table, name string) bool {
	t := ix.tables[knowledge.Fold(table)]
	if t == nil {
		return false
	}
	_, ok := t.columns[knowledge.Fold(name)]
	return ok
}

// HasMeasure tells whether the model has a measure, on whatever table.
func (ix *Index) HasMeasure(name string) bool {
	_, ok := ix.measures[knowledge.Fold(name)]
	return ok
}

// Letters has the letter of each argument, each of those that repeat once.
func (f *Function) Letters() string {
	letters := make([]byte, len(f.params))
	for i, p := range f.params {
		letters[i] = p.letter
	}
	return string(letters)
}
