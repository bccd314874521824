package report

import (
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed page
var pageFiles embed.FS

var reportPage = template.Must(template.ParseFS(pageFiles, "page/report.html"))

// PagePath is where the page is served: the path of Power BI's own.
const PagePath = "/reportEmbed"

// Loopback are the origins that may embed a report where nobody says otherwise:
// pages of this machine.
var Loopback = []string{"'self'", "http://localhost:*", "http://127.0.0.1:*", "https://localhost:*", "https://127.0.0.1:*"}

// MountPage serves the page and its scripts. Only pages of the origins in
// embeddedBy, written as for the directive frame-ancestors, may frame it and talk
// to it. Rows it fetches from below [PagePath]/explore, which the caller serves.
func MountPage(mux *http.ServeMux, embeddedBy []string) {
	ancestors := strings.Join(embeddedBy, " ")
	policy := "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors " + ancestors
	mux.HandleFunc("GET "+PagePath, func(w http.ResponseWriter, _ *http.Request) {
		secure(w, "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		_ = reportPage.Execute(w, ancestors) // the browser may be gone
	})
	types := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
	mux.HandleFunc("GET "+PagePath+"/{file}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		data, err := fs.ReadFile(pageFiles, "page/"+name)
		if kind := types[path.Ext(name)]; err == nil && kind != "" {
			secure(w, kind)
			_, _ = w.Write(data)
			return
		}
		http.NotFound(w, r)
	})
}

// secure sets what every file of the page has.
func secure(w http.ResponseWriter, kind string) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
}
