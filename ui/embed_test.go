package ui_test

import (
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/ui"
)

// NET-07
func TestPathsNameOneScreenEach(t *testing.T) {
	form := regexp.MustCompile(`^/([a-z-]+(/([a-z-]+|:[a-z]+))*)?$`)
	seen := map[string]bool{}
	for _, p := range ui.Paths() {
		if !form.MatchString(p) {
			t.Errorf("path %q is not of literal segments and :names alone", p)
		}
		if strings.HasPrefix(p, "/api") || strings.HasPrefix(p, "/assets") {
			t.Errorf("path %q would hide what the server itself serves", p)
		}
		if seen[p] {
			t.Errorf("path %q is listed twice", p)
		}
		seen[p] = true
	}
	if !seen["/"] || !seen["/sign-in"] || !seen["/consent"] {
		t.Errorf("paths %v lack home, sign-in or consent", ui.Paths())
	}
}

// NET-06, NET-13: what the policy script-src 'self' would refuse to run is not
// in the page, and everything that the page loads is in the build.
func TestShellHasNothingInline(t *testing.T) {
	page := readBuild(t, "index.html")
	asset := regexp.MustCompile(`^/assets/[^/]+-[A-Za-z0-9_-]{8}\.(js|css|svg)$`)
	loaded := 0
	d := xml.NewDecoder(strings.NewReader(string(page)))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("reading index.html: %v", err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if e.Name.Local == "style" {
			t.Error("index.html has a style element")
		}
		source := ""
		for _, a := range e.Attr {
			if name := a.Name.Local; name == "style" || strings.HasPrefix(name, "on") {
				t.Errorf("<%s> has the inline attribute %s", e.Name.Local, name)
			} else if name == "src" || name == "href" {
				source = a.Value
			}
		}
		if e.Name.Local == "script" && source == "" {
			t.Error("index.html has an inline script")
		}
		if source == "" {
			continue
		}
		loaded++
		if !asset.MatchString(source) {
			t.Errorf("<%s> loads %q, which is not a hashed asset of this build", e.Name.Local, source)
			continue
		}
		if _, err := fs.Stat(ui.FS(), strings.TrimPrefix(source, "/")); err != nil {
			t.Errorf("index.html loads %s: %v", source, err)
		}
	}
	if loaded < 2 {
		t.Errorf("index.html loads %d files; want at least a script and a style sheet", loaded)
	}
}

// UI-05: the script and style of the first load of home, as a browser gets them.
func TestHomeIsLight(t *testing.T) {
	var chunks map[string]struct {
		File    string   `json:"file"`
		CSS     []string `json:"css"`
		Imports []string `json:"imports"`
	}
	if err := json.Unmarshal(readBuild(t, ".vite/manifest.json"), &chunks); err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	var load func(chunk string)
	load = func(name string) {
		chunk, ok := chunks[name]
		if !ok {
			t.Fatalf("the build has no chunk %q", name)
		}
		if files[chunk.File] {
			return
		}
		files[chunk.File] = true
		for _, css := range chunk.CSS {
			files[css] = true
		}
		for _, imported := range chunk.Imports {
			load(imported)
		}
	}
	load("index.html")
	load("src/home/page.tsx")

	var sum counter
	for file := range files {
		z := gzip.NewWriter(&sum)
		// Writing to a counter does not fail.
		_, _ = z.Write(readBuild(t, file))
		_ = z.Close()
	}
	const most = 100 << 10
	t.Logf("home loads %d files, %d bytes compressed", len(files), sum)
	if sum > most {
		t.Errorf("home loads %d bytes of compressed script and style; at most %d are allowed", sum, most)
	}
}

type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// readBuild reads a file of the build, and skips the test where there is none.
func readBuild(t *testing.T, name string) []byte {
	t.Helper()
	if _, err := fs.Stat(ui.FS(), "index.html"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("ui/dist holds no build; run `npm run build` in ui")
	}
	body, err := fs.ReadFile(ui.FS(), name)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
