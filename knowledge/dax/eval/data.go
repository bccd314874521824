package eval

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// Rows are the rows of one table of the model. Once [New] has taken them they
// must not be added to, but may be given to it again.
type Rows struct {
	Table   string
	columns []*column.Column
	once    sync.Once
	n       int
	err     error
}

// NewRows is a table without columns.
func NewRows(table string) *Rows { return &Rows{Table: table} }

// Column adds a column of the given type, to be filled with its Append methods.
// All columns of a table must end up with as many rows.
func (r *Rows) Column(name string, t knowledge.DataType) *column.Column {
	c := column.New(name, column.KindOf(t))
	r.columns = append(r.columns, c)
	return c
}

// Rename gives the table and its columns other names, before [New] takes them. A
// column whose new name is empty is left out.
func (r *Rows) Rename(table string, column func(name string) string) {
	r.Table = table
	kept := r.columns[:0]
	for _, c := range r.columns {
		if c.Name = column(c.Name); c.Name != "" {
			kept = append(kept, c)
		}
	}
	r.columns = kept
}

// seal ends the filling: it adds the blank row to every column, and gives the
// number of rows before it.
func (r *Rows) seal() (int, error) {
	r.once.Do(func() {
		for i, c := range r.columns {
			if i == 0 {
				r.n = c.Len()
			} else if c.Len() != r.n {
				r.err = fmt.Errorf("the rows of %s: the column %s has %d, the column %s has %d", r.Table, r.columns[0].Name, r.n, c.Name, c.Len())
				return
			}
		}
		for _, c := range r.columns {
			c.AppendBlank()
		}
	})
	return r.n, r.err
}

// ReadCSV reads the rows of a table from CSV with a header line. A column of the
// header is the table's column of that source name or name; others are skipped,
// and columns of the table that the header lacks are blank. An empty cell is
// blank.
func ReadCSV(table knowledge.Table, from io.Reader) (*Rows, error) {
	reader := csv.NewReader(from)
	reader.ReuseRecord = true
	header, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the header of the rows of %s: %w", table.Name, err)
	}
	rows := NewRows(table.Name)
	cells := make([]*cellReader, len(header))
	for i, name := range header {
		name = knowledge.Fold(strings.TrimPrefix(name, "\ufeff"))
		for _, c := range table.Columns {
			if c.Expression == "" && (knowledge.Fold(c.SourceColumn) == name || knowledge.Fold(c.Name) == name) {
				cells[i] = &cellReader{to: rows.Column(c.Name, c.DataType), seen: map[string]int32{"": column.BlankID}}
				break
			}
		}
	}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the rows of %s: %w", table.Name, err)
		}
		for i, cell := range record {
			if cells[i] == nil {
				continue
			}
			if err := cells[i].read(cell); err != nil {
				line, _ := reader.FieldPos(i)
				return nil, fmt.Errorf("line %d of the rows of %s, column %s: %w", line, table.Name, header[i], err)
			}
		}
	}
}

// A cellReader converts each distinct text of a column once.
type cellReader struct {
	to   *column.Column
	seen map[string]int32
}

func (r *cellReader) read(cell string) error {
	id, ok := r.seen[cell]
	if !ok {
		v := value.OfText(strings.Clone(cell))
		if r.to.Kind != value.Text && r.to.Kind != value.Blank {
			var err error
			if v, err = value.Convert(v, r.to.Kind); err != nil {
				return err
			}
		}
		id = r.to.Intern(v)
		r.seen[strings.Clone(cell)] = id
	}
	r.to.AppendID(id)
	return nil
}
