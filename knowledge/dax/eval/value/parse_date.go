package value

import (
	"strings"
	"time"
)

// isoLayouts are how data and dt"…" literals write dates.
var isoLayouts = []string{
	"2006-01-02", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04:05Z07:00",
	"2006-1-2", "2006-1-2T15:4:5", "2006-1-2 15:4:5", "2006-1-2 15:4", "2006-1-2T15:4",
}

// dayLayouts and timeLayouts are how people of the United States write them,
// after commas are taken out. A month without a day means its first.
var (
	dayLayouts = []string{
		"1/2/2006", "1-2-2006", "2006/1/2", "January 2 2006", "Jan 2 2006", "2 January 2006", "2 Jan 2006",
		"2-Jan-2006", "2-January-2006", "Jan-2-2006", "January-2-2006", "January 2006", "Jan 2006", "20060102", "1/2/06",
	}
	timeLayouts = []string{"15:04:05", "15:04", "3:04:05 PM", "3:04 PM", "3 PM"}
)

// ParseDate reads the text of a date, a date with a time, or a time alone, which
// falls on 1899-12-30.
func ParseDate(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if len(s) > maxDateText || !strings.ContainsAny(s, "0123456789") {
		return time.Time{}, false
	}
	for _, layout := range isoLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	words := strings.Fields(strings.ReplaceAll(s, ",", " "))
	first := clockWord(words)
	clock, ok := parseFirst(timeLayouts, strings.ToUpper(strings.Join(words[first:], " ")))
	if first < len(words) && !ok {
		return time.Time{}, false
	}
	if first == 0 {
		return time.Date(1899, 12, 30, clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), time.UTC), true
	}
	day, ok := parseFirst(dayLayouts, strings.Join(words[:first], " "))
	if first < len(words) {
		day = day.Add(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute +
			time.Duration(clock.Second())*time.Second + time.Duration(clock.Nanosecond()))
	}
	return day, ok
}

// maxDateText is longer than any text of a date.
const maxDateText = 60

// clockWord is the first word of the time of day: one with a colon, or one before
// AM or PM.
func clockWord(words []string) int {
	for i, w := range words {
		if strings.Contains(w, ":") || i+1 < len(words) && (strings.EqualFold(words[i+1], "AM") || strings.EqualFold(words[i+1], "PM")) {
			return i
		}
	}
	return len(words)
}

func parseFirst(layouts []string, s string) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
