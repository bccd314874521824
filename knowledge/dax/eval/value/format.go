package value

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Format is FORMAT: v written by a named format or by a pattern, as in a locale.
func Format(v Value, pattern string, in *Locale) string {
	switch v.kind {
	case Blank:
		return ""
	case Text:
		return v.s
	}
	name := FoldCase(pattern)
	switch name {
	case "":
		if v.kind == Date {
			return in.general(v.Time())
		}
		return v.String()
	case "yes/no":
		return either(v, "Yes", "No")
	case "true/false":
		return either(v, "True", "False")
	case "on/off":
		return either(v, "On", "Off")
	}
	if v.kind == Bool {
		return v.String()
	}
	if name == "currency" {
		return formatNumber(v.Float(), in.currency)
	}
	if named, ok := numberFormats[name]; ok {
		return formatNumber(v.Float(), named)
	}
	if name == "general number" {
		if v.kind == Date {
			return OfDouble(v.Float()).String()
		}
		return v.String()
	}
	if named, ok := in.named[name]; ok {
		return formatDate(in.clock(v), named)
	}
	if name == "general date" {
		return in.general(in.clock(v))
	}
	if v.kind == Date && !strings.ContainsAny(unquoted(pattern), "0#") || v.kind != Date && isDatePattern(pattern) {
		return formatDate(in.clock(v), pattern)
	}
	return formatNumber(v.Float(), pattern)
}

func either(v Value, yes, no string) string {
	if v.Float() != 0 {
		return yes
	}
	return no
}

var numberFormats = map[string]string{
	"fixed":      "0.00",
	"standard":   "#,##0.00",
	"percent":    "0.00%",
	"scientific": "0.00E+00",
}

// unquoted is a pattern without the parts that stand for themselves.
func unquoted(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '"':
			for i++; i < len(pattern) && pattern[i] != '"'; i++ {
			}
		default:
			b.WriteByte(pattern[i])
		}
	}
	return b.String()
}

func isDatePattern(pattern string) bool {
	p := unquoted(pattern)
	return !strings.ContainsAny(p, "0#") && strings.ContainsAny(p, "dmyhqsMDYHQS")
}

// formatNumber writes f by a pattern of up to three sections: positive, negative
// and zero.
func formatNumber(f float64, pattern string) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return formatDouble(f)
	}
	sections := splitSections(pattern)
	section := sections[0]
	minus := f < 0
	switch {
	case f < 0 && len(sections) > 1 && sections[1] != "":
		section, minus = sections[1], false
	case f == 0 && len(sections) > 2 && sections[2] != "":
		section = sections[2]
	}
	text, zero := formatSection(math.Abs(f), section)
	if minus && !zero {
		return "-" + text
	}
	return text
}

func splitSections(pattern string) []string {
	var sections []string
	start, quoted := 0, false
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case ';':
			if !quoted {
				sections = append(sections, pattern[start:i])
				start = i + 1
			}
		}
	}
	return append(sections, pattern[start:])
}

// formatSection writes a number that is not negative by one section, and says
// whether it came out as zero.
func formatSection(f float64, section string) (text string, zero bool) {
	plain := unquoted(section)
	for range strings.Count(plain, "%") {
		f *= 100
	}
	whole, rest, _ := strings.Cut(plain, ".")
	exponent := ""
	if i := strings.IndexAny(plain, "eE"); i >= 0 && i+1 < len(plain) && (plain[i+1] == '+' || plain[i+1] == '-') {
		exponent = plain[i:]
		rest, _, _ = strings.Cut(strings.ReplaceAll(rest, "e", "E"), "E")
	}
	// Commas after the last digit of either part divide by a thousand each, those
	// between digits of the whole part group.
	digits := strings.TrimRight(whole, " %$)")
	for _, part := range []string{digits, rest} {
		if last := strings.LastIndexAny(part, "0#"); last >= 0 {
			after := part[last+1:]
			f /= math.Pow(1000, float64(len(after)-len(strings.TrimLeft(after, ","))))
		}
	}
	digits = strings.TrimRight(digits, ",")
	grouped := strings.Contains(strings.TrimLeft(digits, " $("), ",")
	minWhole := strings.Count(digits, "0")
	minPlaces, maxPlaces := 0, 0
	for _, r := range rest {
		if r == '0' {
			maxPlaces++
			minPlaces = maxPlaces
		} else if r == '#' {
			maxPlaces++
		}
	}
	power := 0
	if exponent != "" && f != 0 {
		power = int(math.Floor(math.Log10(f)))
		f /= math.Pow(10, float64(power))
		if rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', maxPlaces, 64), 64); rounded >= 10 {
			f /= 10
			power++
		}
	}
	number := strconv.FormatFloat(roundPlaces(f, maxPlaces), 'f', maxPlaces, 64)
	zero = strings.Trim(number, "0.") == ""
	wholePart, places, _ := strings.Cut(number, ".")
	for len(places) > minPlaces && strings.HasSuffix(places, "0") {
		places = places[:len(places)-1]
	}
	if wholePart == "0" && minWhole == 0 {
		wholePart = ""
	}
	for len(wholePart) < minWhole {
		wholePart = "0" + wholePart
	}
	if grouped {
		wholePart = groupThousands(wholePart)
	}
	return compose(section, wholePart, places, exponent, power), zero
}

func roundPlaces(f float64, places int) float64 {
	p := math.Pow(10, float64(places))
	x := f * p
	if math.IsInf(x, 0) {
		return f
	}
	if n := math.Round(x*2) / 2; math.Abs(x-n) < math.Abs(x)*1e-14 {
		x = n
	}
	return math.Round(x) / p
}

func groupThousands(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// compose puts the digits where the section has its placeholders.
func compose(section, whole, places, exponent string, power int) string {
	var b strings.Builder
	wrote := false
	for i := 0; i < len(section); i++ {
		c := section[i]
		switch {
		case c == '\\' && i+1 < len(section):
			i++
			b.WriteByte(section[i])
		case c == '"':
			for i++; i < len(section) && section[i] != '"'; i++ {
				b.WriteByte(section[i])
			}
		case strings.IndexByte("0#,.", c) >= 0:
			if !wrote {
				b.WriteString(whole)
				if places != "" {
					b.WriteString("." + places)
				}
				wrote = true
			}
		case (c == 'e' || c == 'E') && exponent != "" && i+1 < len(section) && (section[i+1] == '+' || section[i+1] == '-'):
			b.WriteByte(c)
			if power < 0 {
				b.WriteByte('-')
			} else if section[i+1] == '+' {
				b.WriteByte('+')
			}
			width := strings.Count(exponent, "0")
			fmt.Fprintf(&b, "%0*d", width, int(math.Abs(float64(power))))
			for i++; i+1 < len(section) && (section[i+1] == '0' || section[i+1] == '#'); i++ {
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
