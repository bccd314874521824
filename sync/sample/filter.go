package sample

import (
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"strings"
)

// A filter is what $filter says of an entry of a list: conditions, of which those
// of one inner list must all hold, and one inner list is enough.
type filter [][]condition

// A condition compares one property of an entry.
type condition struct {
	property, operator, value string
}

var (
	quoted     = `'(?:[^']|'')*'`
	comparison = regexp.MustCompile(`^\s*(?:tolower\(\s*)?(\w+)\s*\)?\s+(eq|ne)\s+(` + quoted + `|[\w.-]+)\s*$`)
	function   = regexp.MustCompile(`^\s*(contains|startswith|endswith)\(\s*(?:tolower\(\s*)?(\w+)\s*\)?\s*,\s*(` + quoted + `)\s*\)\s*$`)
	word       = regexp.MustCompile(quoted + `|\s+(?i:and|or)\s+`)
)

// parseFilter reads the part of OData's language that real callers use: eq, ne,
// contains, startswith and endswith, joined by and and or.
func parseFilter(text string) (filter, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	out := filter{nil}
	add := func(part string) error {
		var c condition
		if m := comparison.FindStringSubmatch(part); m != nil {
			c = condition{m[1], m[2], m[3]}
		} else if m := function.FindStringSubmatch(part); m != nil {
			c = condition{m[2], m[1], m[3]}
		} else {
			return fmt.Errorf("$filter has %q, which is no condition that is supported", strings.TrimSpace(part))
		}
		if strings.HasPrefix(c.value, "'") {
			c.value = strings.ReplaceAll(c.value[1:len(c.value)-1], "''", "'")
		}
		out[len(out)-1] = append(out[len(out)-1], c)
		return nil
	}
	from := 0
	for _, at := range word.FindAllStringIndex(text, -1) {
		joint := text[at[0]:at[1]]
		if joint[0] == '\'' {
			continue
		}
		if err := add(text[from:at[0]]); err != nil {
			return nil, err
		}
		if from = at[1]; strings.EqualFold(strings.TrimSpace(joint), "or") {
			out = append(out, nil)
		}
	}
	return out, add(text[from:])
}

func (f filter) fits(entry object) bool {
	if f == nil {
		return true
	}
	for _, all := range f {
		fits := true
		for _, c := range all {
			fits = fits && c.fits(entry)
		}
		if fits {
			return true
		}
	}
	return false
}

// fits compares texts without letter case, as Power BI does.
func (c condition) fits(entry object) bool {
	have := ""
	for name, v := range entry {
		if strings.EqualFold(name, c.property) && v != nil {
			have = strings.ToLower(fmt.Sprint(v))
		}
	}
	want := strings.ToLower(c.value)
	switch c.operator {
	case "eq":
		return have == want
	case "ne":
		return have != want
	case "contains":
		return strings.Contains(have, want)
	case "startswith":
		return strings.HasPrefix(have, want)
	}
	return strings.HasSuffix(have, want)
}

// filtered leaves out of a list what $filter does not let through. It answers where
// that cannot be read.
func filtered(w http.ResponseWriter, r *http.Request, list iter.Seq[object]) (iter.Seq[object], bool) {
	f, err := parseFilter(r.URL.Query().Get("$filter"))
	if err != nil {
		powerBIError(w, http.StatusBadRequest, "InvalidRequest", err.Error())
		return nil, false
	}
	return func(yield func(object) bool) {
		for entry := range list {
			if f.fits(entry) && !yield(entry) {
				return
			}
		}
	}, true
}
