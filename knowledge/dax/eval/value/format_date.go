package value

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Locale is how the people of a country write dates and money. The names of
// months and days are English in all those that are here.
type Locale struct {
	currency string
	named    map[string]string // patterns of the named formats for dates, in lower case
}

// USEnglish is how models are written here unless a FORMAT says otherwise.
var USEnglish = &Locale{
	currency: "$#,##0.00;($#,##0.00)",
	named: map[string]string{
		"long date": "dddd, mmmm d, yyyy", "medium date": "dddd, mmmm d, yyyy", "short date": "m/d/yyyy",
		"long time": "h:nn:ss AM/PM", "medium time": "hh:nn AM/PM", "short time": "hh:nn",
	},
}

var britishEnglish = &Locale{
	currency: "£#,##0.00;-£#,##0.00",
	named: map[string]string{
		"long date": "dd mmmm yyyy", "medium date": "dd mmmm yyyy", "short date": "dd/mm/yyyy",
		"long time": "hh:nn:ss", "medium time": "hh:nn AM/PM", "short time": "hh:nn",
	},
}

// FindLocale is the locale of a name like en-US; nil where it is not here.
func FindLocale(name string) *Locale {
	switch FoldCase(name) {
	case "en-us":
		return USEnglish
	case "en-gb":
		return britishEnglish
	}
	return nil
}

// clock is the time that a number means; what is none is the nearest there is.
func (l *Locale) clock(v Value) time.Time {
	return SerialTime(min(max(v.Float(), MinSerial), MaxSerial-1))
}

// general is the general format of a date: without a time at midnight, and the
// time alone on day zero.
func (l *Locale) general(t time.Time) string {
	day, clock := formatDate(t, l.named["short date"]), formatDate(t, l.named["long time"])
	switch {
	case t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0:
		return day
	case t.Year() == 1899 && t.Month() == time.December && t.Day() == 30:
		return clock
	}
	return day + " " + clock
}

// completeDate and completeTime are what c, ddddd, dddddd and ttttt stand for.
const (
	completeDate = "mm/dd/yyyy"
	completeTime = "hh:nn:ss"
)

// halfDay finds the marks of the halves of a day: how much of the pattern one
// takes, and how it writes AM and PM.
func halfDay(pattern string, t time.Time) (length int, text string) {
	for _, mark := range []string{"AM/PM", "AMPM", "A/P"} {
		if len(pattern) < len(mark) || !strings.EqualFold(pattern[:len(mark)], mark) {
			continue
		}
		text = t.Format("PM")
		if mark == "A/P" {
			text = text[:1]
		}
		if pattern[0] == 'a' && mark != "AMPM" {
			text = strings.ToLower(text)
		}
		return len(mark), text
	}
	return 0, ""
}

// twelveHours says whether hours count from 1 to 12.
func twelveHours(pattern string) bool {
	plain := unquoted(pattern)
	upper := strings.ToUpper(plain)
	if strings.Contains(upper, "AM/PM") || strings.Contains(upper, "AMPM") || strings.Contains(upper, "A/P") {
		return true
	}
	return strings.Contains(strings.ReplaceAll(plain, "ttttt", ""), "tt")
}

// formatDate writes t by a pattern. An m after an h, or before an s, is a minute.
func formatDate(t time.Time, pattern string) string {
	var b strings.Builder
	clock12 := twelveHours(pattern)
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
			if length, half := halfDay(pattern[i:], t); length > 0 {
				b.WriteString(half)
				i += length
				continue
			}
			b.WriteString(pattern[i : i+n])
		case 't':
			if n == 5 {
				b.WriteString(formatDate(t, completeTime))
			} else {
				b.WriteString(t.Format("PM")[:min(n, 2)])
			}
		case 'c', 'C':
			b.WriteString(complete(t))
		case 'd', 'D':
			switch {
			case n == 5:
				b.WriteString(formatDate(t, completeDate))
			case n == 6:
				b.WriteString(formatDate(t, USEnglish.named["long date"]))
			default:
				b.WriteString(t.Format([]string{"2", "02", "Mon", "Monday"}[min(n, 4)-1]))
			}
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

// complete is the date and the time, without one that is zero.
func complete(t time.Time) string {
	day, clock := formatDate(t, completeDate), formatDate(t, completeTime)
	switch {
	case clock == "00:00:00":
		return day
	case t.Year() == 1899 && t.Month() == time.December && t.Day() == 30:
		return clock
	}
	return day + " " + clock
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
