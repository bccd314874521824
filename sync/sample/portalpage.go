package sample

import (
	"embed"
	"html/template"
	"net/http"
)

//go:embed portal
var portalFiles embed.FS

var portalPages = template.Must(template.ParseFS(portalFiles, "portal/portal.html"))

// portalPolicy lets a page of the portal load what the tenant serves, frame its
// reports, and be framed by nobody.
const portalPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; frame-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// portalPage writes one of the pages. Its addresses carry who looks, and it may
// carry a token, so that nothing of it is kept or passed on.
func portalPage(w http.ResponseWriter, status int, name string, data any) {
	noStore(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", portalPolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	_ = portalPages.ExecuteTemplate(w, name, data) // the browser may be gone
}

// mountPortalFiles serves what the pages load.
func mountPortalFiles(mux *http.ServeMux) {
	for name, kind := range map[string]string{
		"portal.css": "text/css; charset=utf-8", "host.js": "text/javascript; charset=utf-8",
	} {
		data, err := portalFiles.ReadFile("portal/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		mux.HandleFunc("GET /portal/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Cache-Control", "no-cache")
			_, _ = w.Write(data) // the browser may be gone
		})
	}
}
