package eval_test

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
)

// TestScripts runs the scripts of testdata: a model with its rows, and what
// expressions and queries over it give. The language has these statements, each
// at the start of a line, with what belongs to it indented below:
//
//	table NAME                        a table: a line of Column:type | …, then its rows
//	relationship A[x] -> B[y] WORDS   WORDS: inactive, both, secure, many, one
//	measure T[Name] = EXPRESSION
//	column T[Name]:type = EXPRESSION
//	calculated NAME = EXPRESSION      a calculated table
//	function NAME = (a) => EXPRESSION
//	item T NAME = EXPRESSION          an item of the calculation group T
//	precedence T NUMBER               of the calculation group T
//	role NAME
//	  Table = EXPRESSION              or: Table hidden, Table[Column] hidden
//	as UPN ROLE, ROLE                 who asks from here on; without roles: a writer
//	custom TEXT                       what CUSTOMDATA() is for them
//	eval NAME                         lines of EXPRESSION => RESULT
//	query NAME                        a query; then --, then the columns, then the rows
//	                                  that must come, in any order without ORDER BY;
//	                                  or: fails KIND LINE:COLUMN part of the message
//
// What declares the model comes before the first eval or query. A
// blank cell is -, an empty text "", and a bar in text is shown as /.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".script"), func(t *testing.T) {
			t.Parallel()
			runScript(t, file)
		})
	}
}

// A statement of a script.
type statement struct {
	line int
	head string
	body []string
}

func readScript(t *testing.T, file string) []statement {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []statement
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case line[0] == ' ' || line[0] == '\t':
			if len(all) == 0 {
				t.Fatalf("%s:%d: an indented line belongs to nothing", file, n)
			}
			last := &all[len(all)-1]
			last.body = append(last.body, line[min(2, len(line)):])
		default:
			all = append(all, statement{line: n, head: strings.TrimSpace(line)})
		}
	}
	return all
}

// A script is the state of one file while it runs.
type script struct {
	file   string
	model  knowledge.Model
	rows   []*eval.Rows
	as     eval.Identity
	engine *eval.Engine
}

var scriptNow = time.Date(2024, 3, 15, 10, 30, 0, 0, time.UTC)

func runScript(t *testing.T, file string) {
	s := &script{file: file, as: eval.Identity{UPN: "writer@sample.example", Unrestricted: true}}
	s.model.Name = "Test"
	for _, st := range readScript(t, file) {
		word, rest, _ := strings.Cut(st.head, " ")
		switch word {
		case "eval", "query", "unsupported":
			s.start(t)
			name := fmt.Sprintf("%d %s", st.line, rest)
			t.Run(name, func(t *testing.T) {
				switch word {
				case "eval":
					s.eval(t, st)
				case "query":
					s.query(t, st)
				case "unsupported":
					s.unsupported(t, st)
				}
			})
		case "as":
			upn, roles, _ := strings.Cut(rest, " ")
			s.as = eval.Identity{UPN: upn, ObjectID: "id-of-" + upn, Unrestricted: roles == ""}
			for role := range strings.SplitSeq(roles, ",") {
				if role = strings.TrimSpace(role); role != "" {
					s.as.Roles = append(s.as.Roles, role)
				}
			}
		case "custom":
			s.as.CustomData = rest
		default:
			if err := s.declare(word, rest, st.body); err != nil {
				t.Fatalf("%s:%d: %v", file, st.line, err)
			}
		}
	}
}

func (s *script) start(t *testing.T) {
	t.Helper()
	if s.engine != nil {
		return
	}
	engine, err := eval.New(&s.model, s.rows, func() time.Time { return scriptNow })
	if err != nil {
		t.Fatalf("%s: %v", s.file, err)
	}
	s.engine = engine
}

func (s *script) table(name string) *knowledge.Table {
	name = strings.Trim(strings.TrimSpace(name), "'")
	for i := range s.model.Tables {
		if knowledge.Fold(s.model.Tables[i].Name) == knowledge.Fold(name) {
			return &s.model.Tables[i]
		}
	}
	s.model.Tables = append(s.model.Tables, knowledge.Table{Name: name})
	return &s.model.Tables[len(s.model.Tables)-1]
}

// split reads Table[Column].
func split(ref string) (table, column string) {
	table, column, _ = strings.Cut(strings.TrimSpace(ref), "[")
	return strings.Trim(table, "'"), strings.TrimSuffix(column, "]")
}

func (s *script) declare(word, rest string, body []string) error {
	name, expr, _ := strings.Cut(rest, " = ")
	expr = strings.TrimSpace(expr + "\n" + strings.Join(body, "\n"))
	switch word {
	case "table":
		return s.declareTable(rest, body)
	case "relationship":
		return s.declareRelationship(rest)
	case "measure":
		table, measure := split(name)
		t := s.table(table)
		t.Measures = append(t.Measures, knowledge.Measure{Name: measure, Expression: expr})
	case "column":
		name, typ, _ := strings.Cut(name, ":")
		table, column := split(name)
		t := s.table(table)
		t.Columns = append(t.Columns, knowledge.Column{Name: column, DataType: knowledge.DataType(typ), Expression: expr})
	case "calculated":
		s.table(name).Expression = expr
	case "function":
		s.model.Functions = append(s.model.Functions, knowledge.Function{Name: name, Expression: expr})
	case "item":
		table, item, _ := strings.Cut(name, " ")
		t := s.table(table)
		t.Items = append(t.Items, knowledge.CalculationItem{Name: item, Expression: expr, Ordinal: len(t.Items)})
		if len(t.Columns) == 0 {
			t.Columns = []knowledge.Column{{Name: "Name", DataType: knowledge.String}, {Name: "Ordinal", DataType: knowledge.Int64}}
		}
	case "precedence":
		table, number, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(number)
		s.table(table).Precedence = n
		return err
	case "role":
		role := knowledge.Role{Name: rest}
		for _, line := range body {
			line = strings.TrimSpace(line)
			if ref, ok := strings.CutSuffix(line, " hidden"); ok {
				table, column := split(ref)
				p := knowledge.TablePermission{Table: table, Hidden: column == ""}
				if column != "" {
					p.HiddenColumns = []string{column}
				}
				role.Tables = append(role.Tables, p)
				continue
			}
			table, filter, _ := strings.Cut(line, " = ")
			role.Tables = append(role.Tables, knowledge.TablePermission{Table: table, Filter: filter})
		}
		s.model.Roles = append(s.model.Roles, role)
	default:
		return fmt.Errorf("unknown statement %q", word)
	}
	return nil
}

func cells(line string) []string {
	parts := strings.Split(line, "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

func (s *script) declareTable(name string, body []string) error {
	t := s.table(name)
	rows := eval.NewRows(t.Name)
	var fill []func(string) error
	for _, head := range cells(body[0]) {
		column, typ, _ := strings.Cut(head, ":")
		typ, key := strings.CutSuffix(typ, "!")
		def := knowledge.Column{Name: column, DataType: knowledge.DataType(typ), Key: key}
		t.Columns = append(t.Columns, def)
		c := rows.Column(column, def.DataType)
		fill = append(fill, func(cell string) error {
			switch {
			case cell == "-":
				c.AppendBlank()
				return nil
			case cell == `""`:
				c.AppendText("")
				return nil
			}
			switch def.DataType {
			case knowledge.Int64, knowledge.Double, knowledge.Decimal:
				f, err := strconv.ParseFloat(cell, 64)
				c.AppendFloat(f)
				return err
			case knowledge.Boolean:
				c.AppendBool(cell == "true")
			case knowledge.DateTime:
				d, err := time.Parse("2006-01-02", cell)
				c.AppendTime(d)
				return err
			default:
				c.AppendText(cell)
			}
			return nil
		})
	}
	for _, line := range body[1:] {
		row := cells(line)
		if len(row) != len(fill) {
			return fmt.Errorf("the row %q has %d cells, %d are wanted", line, len(row), len(fill))
		}
		for i, cell := range row {
			if err := fill[i](cell); err != nil {
				return err
			}
		}
	}
	s.rows = append(s.rows, rows)
	return nil
}

func (s *script) declareRelationship(rest string) error {
	from, rest, _ := strings.Cut(rest, " -> ")
	to, words, _ := strings.Cut(rest, "] ")
	r := knowledge.Relationship{Name: fmt.Sprintf("r%d", len(s.model.Relationships)+1)}
	r.FromTable, r.FromColumn = split(from)
	r.ToTable, r.ToColumn = split(strings.TrimSuffix(to, "]") + "]")
	for _, word := range strings.Fields(words) {
		switch word {
		case "inactive":
			r.Inactive = true
		case "both":
			r.BothFilter = true
		case "secure":
			r.BothSecure = true
		case "many":
			r.ToMany = true
		case "one":
			r.FromOne = true
		default:
			return fmt.Errorf("unknown word %q", word)
		}
	}
	s.model.Relationships = append(s.model.Relationships, r)
	return nil
}

// show writes a cell as scripts do.
func show(cell any) string {
	switch v := cell.(type) {
	case nil:
		return "-"
	case string:
		if v == "" {
			return `""`
		}
		return strings.ReplaceAll(v, "|", "/")
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
		return strconv.FormatFloat(v, 'g', 10, 64)
	case time.Time:
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return v.Format("2006-01-02")
		}
		return v.Format("2006-01-02 15:04:05")
	}
	return fmt.Sprint(cell)
}

func (s *script) eval(t *testing.T, st statement) {
	for _, line := range st.body {
		expr, want, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("%s: %q has no result", s.file, line)
		}
		want = strings.TrimSpace(want)
		result, err := s.engine.Query(t.Context(), "EVALUATE ROW ( \"x\", "+expr+" )", s.as)
		var got string
		if err != nil {
			var e *eval.Error
			if !errors.As(err, &e) {
				t.Fatalf("%s: %v is no *eval.Error", line, err)
			}
			got = "error " + string(e.Kind)
		} else {
			got = show(result.Tables[0].Rows[0][0])
		}
		if got != want {
			t.Errorf("%s: %s\n got %s (%v)\nwant %s", s.file, strings.TrimSpace(expr), got, err, want)
		}
	}
}

func (s *script) query(t *testing.T, st statement) {
	i := slices.IndexFunc(st.body, func(line string) bool { return strings.TrimSpace(line) == "--" })
	if i < 0 {
		t.Fatalf("%s:%d: the query has no --", s.file, st.line)
	}
	text := strings.Join(st.body[:i], "\n")
	want := st.body[i+1:]
	result, err := s.engine.Query(t.Context(), text, s.as)
	if fails, ok := strings.CutPrefix(strings.TrimSpace(want[0]), "fails "); ok {
		s.fails(t, text, err, fails)
		return
	}
	if err != nil {
		t.Fatalf("%s:%d:\n%s\n%v", s.file, st.line, text, err)
	}
	var got []string
	for n, table := range result.Tables {
		if n > 0 {
			got = append(got, "--")
		}
		var names []string
		for _, c := range table.Columns {
			names = append(names, c.Name)
		}
		got = append(got, strings.Join(names, " | "))
		var rows []string
		for _, row := range table.Rows {
			var shown []string
			for _, cell := range row {
				shown = append(shown, show(cell))
			}
			rows = append(rows, strings.Join(shown, " | "))
		}
		got = append(got, rows...)
	}
	for i, line := range want {
		want[i] = strings.Join(cells(line), " | ")
	}
	if !strings.Contains(strings.ToUpper(text), "ORDER BY") {
		got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s:%d:\n%s\n got:\n  %s\nwant:\n  %s", s.file, st.line, text, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (s *script) fails(t *testing.T, text string, err error, want string) {
	t.Helper()
	var e *eval.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: got %v, want an *eval.Error: %s", text, err, want)
	}
	parts := strings.SplitN(want, " ", 3)
	if got := string(e.Kind); got != parts[0] {
		t.Errorf("%s: the error %q is of kind %s, want %s", text, e, got, parts[0])
	}
	if got := fmt.Sprintf("%d:%d", e.Line, e.Column); len(parts) > 1 && parts[1] != "-" && got != parts[1] {
		t.Errorf("%s: the error %q is at %s, want %s", text, e, got, parts[1])
	}
	if len(parts) > 2 && !strings.Contains(e.Message, parts[2]) {
		t.Errorf("%s: the error %q does not say %q", text, e, parts[2])
	}
}

func (s *script) unsupported(t *testing.T, st statement) {
	got := s.engine.Unsupported()
	if len(got) != len(st.body) {
		t.Fatalf("%s:%d: got %q, want %d of them", s.file, st.line, got, len(st.body))
	}
	for i, line := range st.body {
		if part := strings.TrimSpace(line); !strings.Contains(got[i], part) {
			t.Errorf("%s:%d: %q does not say %q", s.file, st.line, got[i], part)
		}
	}
}
