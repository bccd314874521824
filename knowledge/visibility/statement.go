package visibility

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

var placeholder = regexp.MustCompile(`\{(\w+) ([\w ]+)\}`)

// Statement completes a constant SQL text with the conditions of the view. In it,
//
//	{datasets d}     is the condition over the row d of powerbi_dataset
//	{columns c t}    is the condition over the row c of powerbi_column and t of powerbi_table
//	{measures m t}   is the same for a row m of powerbi_measure
//	{pii_column c t} and {pii_measure m t} hold for what rules cover, whoever asks
//	{reads pii}      is true or false: whether the caller sees what rules cover
//	{app_ids d}      is the list of the dataset's apps
//
// Every value travels as an argument, those of the text by the names in args and
// those of the conditions beside them.
func (v *View) Statement(text string, args pgx.NamedArgs) (string, pgx.NamedArgs) {
	all := make(pgx.NamedArgs, len(args)+4)
	for name, value := range args {
		all[name] = value
	}
	arg := func(value any) string {
		name := fmt.Sprintf("view%d", len(all))
		all[name] = value
		return "@" + name
	}
	completed := placeholder.ReplaceAllStringFunc(text, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		alias := strings.Fields(m[2])
		switch {
		case m[1] == "datasets" && len(alias) == 1:
			return v.Datasets(alias[0], arg)
		case m[1] == "reads" && m[2] == "pii":
			return strconv.FormatBool(v.ReadsPII())
		case m[1] == "app_ids" && len(alias) == 1:
			return AppIDs(alias[0])
		case len(alias) != 2:
		case m[1] == "columns":
			return v.Columns(alias[0], alias[1])
		case m[1] == "measures":
			return v.Measures(alias[0], alias[1])
		case m[1] == "pii_column":
			return CoveredColumn(alias[0], alias[1])
		case m[1] == "pii_measure":
			return CoveredMeasure(alias[0], alias[1])
		}
		panic(fmt.Sprintf("visibility: no condition %s", p))
	})
	return completed, all
}
