package value

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Format is FORMAT: v written by a named format or by a pattern, as in English
// of the United States.
func Format(v Value, pattern string) string {
	switch v.kind {
	case Blank:
		return ""
	case Text:
		return v.s
	}
	name := FoldCase(pattern)
	switch name {
	case "":
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
	if named, ok := numberFormats[name]; ok {
		return formatNumber(v.Float(), named)
	}
	if name == "general number" {
		if v.kind == Date {
			return OfDouble(v.Float()).String()
		}
		return v.String()
	}
	if named, ok := dateFormats[name]; ok {
		return formatDate(v.Time(), named)
	}
	if name == "general date" {
		return formatGeneralDate(v.Time())
	}
	if v.kind == Date && !strings.ContainsAny(unquoted(pattern), "0#") || v.kind != Date && isDatePattern(pattern) {
		return formatDate(v.Time(), pattern)
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
	"currency":   "$#,##0.00;($#,##0.00)",
	"fixed":      "0.00",
	"standard":   "#,##0.00",
	"percent":    "0.00%",
	"scientific": "0.00E+00",
}

var dateFormats = map[string]string{
	"long date":   "dddd, mmmm d, yyyy",
	"medium date": "dd-mmm-yy",
	"short date":  "m/d/yyyy",
	"long time":   "h:nn:ss AM/PM",
	"medium time": "hh:nn AM/PM",
	"short time":  "hh:nn",
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
	for _, part := range []string{digits, strings.TrimRight(rest, " %$)")} {
		if strings.ContainsAny(part, "0#") {
			f /= math.Pow(1000, float64(len(part)-len(strings.TrimRight(part, ","))))
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

// formatDate writes t by a pattern. An m after an h, or before an s, is a minute.
func formatDate(t time.Time, pattern string) string {
	var b strings.Builder
	clock12 := strings.Contains(strings.ToUpper(unquoted(pattern)), "AM/PM") || strings.Contains(unquoted(pattern), "tt")
	afterHour := false
	for i := 0; i < len(pattern); {
		c := pattern[i]
		n := 1
		for i+n < len(pattern) && pattern[i+n] == c {
			n++
		}
		switch c {
		case '\\':
			if i+1 < len(pattern) {
				b.WriteByte(pattern[i+1])
			}
			i += 2
			continue
		case '"':
			end := strings.IndexByte(pattern[i+1:], '"')
			if end < 0 {
				end = len(pattern) - i - 1
			}
			b.WriteString(pattern[i+1 : i+1+end])
			i += end + 2
			continue
		case 'a', 'A':
			if len(pattern)-i >= 5 && strings.EqualFold(pattern[i:i+5], "am/pm") {
				half := t.Format("PM")
				if c == 'a' {
					half = strings.ToLower(half)
				}
				b.WriteString(half)
				i += 5
				continue
			}
			b.WriteString(pattern[i : i+n])
		case 't':
			b.WriteString(t.Format("PM")[:min(n, 2)])
		case 'd', 'D':
			b.WriteString(t.Format([]string{"2", "02", "Mon", "Monday"}[min(n, 4)-1]))
		case 'm', 'M':
			if c == 'm' && (afterHour || beforeSecond(pattern[i+n:])) && n <= 2 {
				b.WriteString(padded(t.Minute(), n))
			} else {
				b.WriteString(t.Format([]string{"1", "01", "Jan", "January"}[min(n, 4)-1]))
			}
		case 'n', 'N':
			b.WriteString(padded(t.Minute(), n))
		case 'y', 'Y':
			switch {
			case n == 1:
				b.WriteString(strconv.Itoa(t.YearDay()))
			case n == 2:
				b.WriteString(t.Format("06"))
			default:
				b.WriteString(t.Format("2006"))
			}
		case 'q', 'Q':
			b.WriteString(strconv.Itoa((int(t.Month()) + 2) / 3))
		case 'w', 'W':
			if n == 1 {
				b.WriteString(strconv.Itoa(int(t.Weekday()) + 1))
			} else {
				b.WriteString(strconv.Itoa(weekOfYear(t)))
			}
		case 'h', 'H':
			hour := t.Hour()
			if clock12 {
				hour = (hour+11)%12 + 1
			}
			b.WriteString(padded(hour, n))
		case 's', 'S':
			b.WriteString(padded(t.Second(), n))
		default:
			b.WriteString(pattern[i : i+n])
		}
		if letter := c | 0x20; letter >= 'a' && letter <= 'z' {
			afterHour = letter == 'h'
		}
		i += n
	}
	return b.String()
}

// beforeSecond says whether the next letter of a pattern is an s.
func beforeSecond(rest string) bool {
	for i := 0; i < len(rest); i++ {
		if letter := rest[i] | 0x20; letter >= 'a' && letter <= 'z' {
			return letter == 's'
		}
	}
	return false
}

func padded(n, width int) string { return fmt.Sprintf("%0*d", min(width, 2), n) }

// weekOfYear counts weeks that start on Sunday, the first one that of January 1.
func weekOfYear(t time.Time) int {
	first := time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	return (t.YearDay()-1+int(first.Weekday()))/7 + 1
}
