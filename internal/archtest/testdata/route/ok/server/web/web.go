package web

import "net/http"

func New(handlers map[string]http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	for path, h := range handlers {
		mux.HandleFunc(path, h)
	}
	return mux
}
