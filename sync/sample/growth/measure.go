package growth

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// A family is what is made of every metric. {M} is the metric, {C} it the year
// before, {F} and {D} are as in a theme.
type family struct {
	suffix string
	says   string
	format string // the metric's own where empty
	days   bool   // it takes the table of days
	ways   []string
}

var families = []family{
	{suffix: " LY", says: " one year before.", days: true, ways: []string{
		"CALCULATE ( [{M}], SAMEPERIODLASTYEAR ( {D} ) )", "CALCULATE ( [{M}], DATEADD ( {D}, -1, YEAR ) )", "CALCULATE ( [{M}], PARALLELPERIOD ( {D}, -12, MONTH ) )",
	}},
	{suffix: " YTD", says: " from January on.", days: true, ways: []string{"TOTALYTD ( [{M}], {D} )", "CALCULATE ( [{M}], DATESYTD ( {D} ) )"}},
	{suffix: " YoY", says: " against the year before.", days: true, ways: []string{"[{M}] - [{C}]", "VAR before = [{C}]\nRETURN\n    IF ( NOT ISBLANK ( before ), [{M}] - before )"}},
	{suffix: " YoY %", says: " against the year before, as a share.", format: percent, days: true, ways: []string{"DIVIDE ( [{M}] - [{C}], [{C}] )", "VAR before = [{C}]\nRETURN\n    DIVIDE ( [{M}] - before, before )"}},
	{suffix: " share", says: " as a share of everything.", format: percent, ways: []string{"DIVIDE ( [{M}], CALCULATE ( [{M}], ALL ( {F} ) ) )", "DIVIDE ( [{M}], CALCULATE ( [{M}], REMOVEFILTERS ( {F} ) ) )"}},
	{suffix: " MTD", says: " from the first of the month on.", days: true, ways: []string{"TOTALMTD ( [{M}], {D} )", "CALCULATE ( [{M}], DATESMTD ( {D} ) )"}},
	{suffix: " QTD", says: " from the start of the quarter on.", days: true, ways: []string{"TOTALQTD ( [{M}], {D} )", "CALCULATE ( [{M}], DATESQTD ( {D} ) )"}},
	{suffix: " 12 months", says: " of the last twelve months.", days: true, ways: []string{"CALCULATE ( [{M}], DATESINPERIOD ( {D}, MAX ( {D} ), -12, MONTH ) )", "CALCULATE ( [{M}], DATESINPERIOD ( {D}, MAX ( {D} ), -1, YEAR ) )"}},
	{suffix: " a day", says: " for each day.", days: true, ways: []string{"AVERAGEX ( VALUES ( {D} ), [{M}] )", "DIVIDE ( [{M}], COUNTROWS ( VALUES ( {D} ) ) )"}},
	{suffix: " or nought", says: ", nought where there is none.", ways: []string{"COALESCE ( [{M}], 0 )", "IF ( ISBLANK ( [{M}] ), 0, [{M}] )", "[{M}] + 0"}},
}

// measures makes so many measures of the fact table: the metrics, what is made of
// each, and copies that somebody made for a try.
func (m *maker) measures(n int) []knowledge.Measure {
	list := make([]knowledge.Measure, 0, n)
	var base []string // the names of the metrics
	for _, metric := range m.theme.metrics {
		if len(list) == n || metric.needs > m.core {
			break
		}
		name := metric.names[m.mostly(len(metric.names))]
		base = append(base, name)
		text := metric.ways[m.mostly(len(metric.ways))]
		for i, other := range base {
			text = strings.ReplaceAll(text, "{"+strconv.Itoa(i)+"}", other)
		}
		list = append(list, m.measure(name, text, metric.says, metric.format, "Key figures"))
	}
	metrics := len(base)
	for _, f := range families {
		if f.days && !m.days {
			continue
		}
		for i := range metrics {
			if len(list) == n {
				return list
			}
			text := strings.NewReplacer("{M}", base[i], "{C}", base[i]+" LY").Replace(f.ways[m.mostly(len(f.ways))])
			format := f.format
			if format == "" {
				format = list[i].FormatString
			}
			list = append(list, m.measure(base[i]+f.suffix, text, base[i]+f.says, format, "Details"))
		}
	}
	for copies := 1; metrics > 0; copies++ {
		for i := range metrics {
			if len(list) == n {
				return list
			}
			text := "[" + base[i] + "]"
			if ways := m.theme.metrics[i].ways; copies%2 == 0 && strings.HasPrefix(ways[0], "SUM") {
				text = ways[copies/2%len(ways)]
			}
			list = append(list, m.measure(fmt.Sprintf("%s (copy %d)", base[i], copies), text, "", list[i].FormatString, ""))
		}
	}
	return list
}

// mostly gives 0 in more than half of the cases, and else one of the others.
func (m *maker) mostly(n int) int {
	if n == 1 || m.rand.IntN(9) < 5 {
		return 0
	}
	return 1 + m.rand.IntN(n-1)
}

var tightener = strings.NewReplacer(" ( ", "(", " )", ")")

func (m *maker) measure(name, text, says, format, folder string) knowledge.Measure {
	text = m.names.Replace(text)
	if m.dialect.tight {
		text = tightener.Replace(text)
	}
	if m.rand.IntN(40) == 0 {
		text = "// as agreed in the spring\n" + text
	}
	me := knowledge.Measure{Name: name, Expression: text, FormatString: format, Folder: folder, Hidden: m.rand.IntN(30) == 0}
	if m.rand.IntN(5) < 3 {
		me.Description = says
	}
	return me
}
