package token

import "net/http"

func Routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{"POST /token": func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }}
}
