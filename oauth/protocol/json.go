package protocol

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
)

const maxJSON = 32 << 10

// ReadJSON reads one JSON object with known fields only.
func ReadJSON(w http.ResponseWriter, r *http.Request, into any) error {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		return errors.New("the content type is not application/json")
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxJSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the JSON value")
	}
	return nil
}
