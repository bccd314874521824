package web

import (
	"bytes"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"
)

// serveShell returns the handlers of the browser's shell: one page, the same
// bytes for everybody, and the build's hashed assets.
func serveShell(files fs.FS) (shell, asset http.HandlerFunc) {
	page, err := fs.ReadFile(files, "index.html")
	if err != nil {
		page = []byte("<!doctype html><title>pbmb</title><p>This program was built without its browser screens: run make build.\n")
	}
	shell = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(page))
	}
	asset = func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		body, err := fs.ReadFile(files, path.Join("assets", path.Base(name)))
		if err != nil || path.Base(name) != name {
			problem(w, r, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}
	return shell, asset
}
