package token

import (
	"net"
	"net/http"
)

func beside(l net.Listener, h http.Handler) {
	mux := http.NewServeMux() // want "http.NewServeMux serves"
	mux.Handle("/token", h)
	http.HandleFunc("/token", h.ServeHTTP) // want "http.HandleFunc serves"
	http.Serve(l, mux)                     // want "http.Serve serves"
	http.ListenAndServe(":80", nil)        // want "http.ListenAndServe serves"
	s := &http.Server{Handler: mux}        // want "an http.Server is made"
	s.Serve(l)
	var other = http.ServeMux{} // want "an http.ServeMux is made"
	other.Handle("/", h)
}
