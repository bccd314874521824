package dax_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// publicModels is the folder of public models and texts, or skips the test.
func publicModels(t testing.TB) string {
	t.Helper()
	dir := publicFolder()
	if dir == "" {
		t.Skip("the public models are not here; set PBMB_PUBLIC_MODELS to their folder")
	}
	return dir
}

// publicFolder is the folder of public models; empty where there is none.
func publicFolder() string { return os.Getenv("PBMB_PUBLIC_MODELS") }

// publicText is one DAX text of a public model, with the place it came from.
type publicText struct {
	from, text string
	function   bool
}

// publicTexts finds the DAX in every model and fixture. It reads no more of TMSL
// and TMDL than that takes.
func publicTexts(t testing.TB) []publicText {
	t.Helper()
	root := publicModels(t)
	var texts []publicText
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		add := func(text string) {
			if strings.TrimSpace(text) != "" {
				texts = append(texts, publicText{from: name, text: text})
			}
		}
		switch {
		case strings.HasSuffix(path, ".bim"):
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			var model any
			if err := json.Unmarshal([]byte(strings.TrimPrefix(string(b), "\uFEFF")), &model); err != nil {
				t.Logf("%s: %v", name, err)
				return nil
			}
			tmslTexts(model, "", add)
		case strings.HasSuffix(path, ".tmdl"):
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			tmdlTexts(string(b), func(kind, text string) {
				if strings.TrimSpace(text) != "" {
					texts = append(texts, publicText{name, text, kind == "function"})
				}
			})
		case strings.HasSuffix(path, ".txt") && !strings.Contains(path, "keyword"):
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for block := range strings.SplitSeq(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n---\n") {
				block = strings.TrimSpace(block)
				if strings.HasPrefix(block, "#") {
					_, block, _ = strings.Cut(block, "\n")
				}
				add(strings.TrimSuffix(block, "\n---"))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// tmslTexts finds the DAX of a TMSL document: expressions that are not M.
func tmslTexts(v any, parent string, add func(string)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			tmslTexts(item, parent, add)
		}
	case map[string]any:
		for key, item := range v {
			text, isText := "", false
			switch item := item.(type) {
			case string:
				text, isText = item, true
			case []any:
				lines := make([]string, 0, len(item))
				for _, line := range item {
					if s, ok := line.(string); ok {
						lines = append(lines, s)
					}
				}
				text, isText = strings.Join(lines, "\n"), len(lines) == len(item) && len(lines) > 0
			}
			switch {
			case !isText:
				tmslTexts(item, key, add)
			case key == "filterExpression" || key == "targetExpression" || key == "statusExpression" || key == "trendExpression":
				add(text)
			case key == "expression" && (parent == "measures" || parent == "columns" || parent == "calculationItems" ||
				parent == "detailRowsDefinition" || parent == "formatStringDefinition"):
				add(text)
			case key == "expression" && parent == "source" && v["type"] == "calculated":
				add(text)
			}
		}
	}
}

var tmdlHead = regexp.MustCompile(`^(measure|column|calculationItem|tablePermission|function|partition|detailRowsDefinition|formatStringDefinition)\b\s*('(?:[^']|'')*'|[^=\s]*)\s*=(.*)$`)

// tmdlTexts finds the DAX of a TMDL file by indentation.
func tmdlTexts(text string, add func(kind, text string)) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	indent := func(s string) int { return len(s) - len(strings.TrimLeft(s, "\t ")) }
	calculated := false
	for i := 0; i < len(lines); i++ {
		trimmed := strings.TrimSpace(lines[i])
		m := tmdlHead.FindStringSubmatch(trimmed)
		if m == nil && calculated && strings.HasPrefix(trimmed, "source =") {
			m = []string{"", "source", "", strings.TrimPrefix(trimmed, "source =")}
		}
		if m == nil {
			continue
		}
		if m[1] == "partition" {
			calculated = strings.TrimSpace(m[3]) == "calculated"
			continue
		}
		own := indent(lines[i])
		body := strings.TrimSpace(m[3])
		if strings.HasPrefix(body, "```") {
			var block []string
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
				block = append(block, lines[i])
			}
			body = strings.Join(block, "\n")
		} else {
			block := []string{body}
			// An expression is indented deeper than the properties of its object.
			for i+1 < len(lines) && (strings.TrimSpace(lines[i+1]) == "" || indent(lines[i+1]) >= own+2) {
				i++
				block = append(block, lines[i])
			}
			body = strings.Join(block, "\n")
		}
		add(m[1], body)
	}
}
