package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// A Format is how an answer is written.
type Format string

// The formats. Auto is a table on a terminal and tab-separated text elsewhere.
const (
	Auto  Format = ""
	Table Format = "table"
	JSON  Format = "json"
	YAML  Format = "yaml"
	CSV   Format = "csv"
	TSV   Format = "tsv"
)

// Formats are those that may be asked for.
var Formats = []Format{Table, JSON, YAML, CSV, TSV}

// A Screen is where answers go.
type Screen struct {
	Out   io.Writer
	Notes io.Writer // what belongs to an answer and is not of its rows

	Terminal bool // Out is one
	Width    int  // its columns
	Height   int  // its lines
	Color    bool
	Pager    func(text string) error // shows what is longer than the terminal; may be nil
}

// Show writes an answer whose type is t.
func (s Screen) Show(raw json.RawMessage, t reflect.Type, f Format) error {
	if !json.Valid(raw) {
		return errors.New("the answer is not JSON")
	}
	if f == Auto {
		f = TSV
		if s.Terminal {
			f = Table
		}
	}
	var b bytes.Buffer
	var notes []string
	switch f {
	case JSON:
		_ = json.Indent(&b, raw, "", "  ") // it is JSON
		b.WriteByte('\n')
	case YAML:
		text, err := toYAML(raw)
		if err != nil {
			return fmt.Errorf("reading an answer: %w", err)
		}
		b.Write(text)
	default:
		a, err := read(raw, t)
		if err != nil {
			return err
		}
		if err := s.write(&b, a, f); err != nil {
			return err
		}
		notes = a.notes(f == Table)
	}
	said := b.String()
	if s.Terminal && f != Table { // a table is made of clean cells
		said = Clean(said)
	}
	if err := s.print(said); err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(s.Notes, s.Style(Quiet, line(n)))
	}
	return nil
}

// toYAML writes JSON as YAML, with the members of objects in their order and
// numbers without exponents where people write none.
func toYAML(raw json.RawMessage) ([]byte, error) {
	var v any
	if err := yaml.UnmarshalWithOptions(raw, &v, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	return yaml.MarshalWithOptions(v, yaml.CustomMarshaler[float64](func(f float64) ([]byte, error) {
		form := byte('f')
		if size := math.Abs(f); size >= 1e15 || (size < 1e-6 && size > 0) {
			form = 'g'
		}
		return strconv.AppendFloat(nil, f, form, -1, 64), nil
	}))
}

func (s Screen) print(text string) error {
	if s.Terminal && s.Pager != nil && strings.Count(text, "\n") >= s.Height {
		return s.Pager(text)
	}
	_, err := io.WriteString(s.Out, text)
	return err
}

// A Style is how text looks on a terminal with colours, as the terminal takes it.
type Style string

const (
	Plain   Style = ""
	Bold    Style = "\x1b[1m"
	Quiet   Style = "\x1b[2m"
	Good    Style = "\x1b[32m"
	Warning Style = "\x1b[33m"
	Bad     Style = "\x1b[31m"

	reset = "\x1b[0m"
)

// Style returns text in a style, where the screen has colours.
func (s Screen) Style(style Style, text string) string {
	if !s.Color || text == "" || style == Plain {
		return text
	}
	return string(style) + text + reset
}
