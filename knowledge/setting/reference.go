package setting

import (
	"fmt"
	"strings"
)

// Reference returns the page of the documentation that says what every setting is.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Generated from knowledge/setting by make generate. -->

An admin changes a setting while the product runs, and it counts from the next request on, in every process. ` + "`GET /api/v1/admin/settings`" + ` lists them all, ` + "`GET /api/v1/admin/settings/{key}`" + ` reads one and ` + "`PUT`" + ` on the same path, with a body such as ` + "`{\"value\": \"90\", \"version\": 0}`" + `, saves one. Each needs the action ` + "`manage_settings`" + `, and each change is in the audit with the value before and after. The version is the one that the change is based on: where somebody else was faster, it is refused. It can be left out.

A setting that nobody has saved holds what the environment gives in a variable named like it, such as ` + "`QUERY_TIMEOUT_SECONDS`" + `, and without one its default. A variable that is wrong keeps the processes from starting.

The addresses that secrets travel to are not settings: only the operator gives them, as ` + "`POWERBI_AUTHORITY`, `POWERBI_API_URL` and `POWERBI_GRAPH_URL`" + `. A row for one in the table of settings is never read.

A value that its setting does not take can only come from somebody who wrote the table by hand, or from another version. Nothing takes its place: what needs the setting refuses, and the log names it, until the row is mended or deleted.
`)
	group := ""
	for _, d := range All() {
		if g, _, _ := strings.Cut(d.Key, "."); g != group {
			group = g
			fmt.Fprintf(&b, "\n## %s\n\n| setting | default | takes | what it is for |\n| --- | --- | --- | --- |\n", group)
		}
		otherwise := "none"
		if d.Default != "" {
			otherwise = "`" + d.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Key, otherwise, d.Rule(), d.Doc)
	}
	return b.String()
}
