package visibility

import "strings"

type View struct{}

func (v *View) Statement(text string, args map[string]any) (string, map[string]any) {
	return strings.ReplaceAll(text, "{datasets d}", "true"), args
}
