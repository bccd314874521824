package ui_test

import (
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
	page, err := fs.ReadFile(ui.FS(), "index.html")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("ui/dist holds no build; run `npm run build` in ui")
	}
	if err != nil {
		t.Fatal(err)
	}
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
