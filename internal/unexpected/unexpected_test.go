package unexpected_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/requestid"
	"github.com/pbmb/pbmb/internal/unexpected"
)

// NET-41: name, message and stack, under the request.
func TestLog(t *testing.T) {
	for name, c := range map[string]struct {
		err                 error
		errorName, says, at string
	}{
		"a plain error":   {errors.New("plain"), "*errors.errorString", "plain", "TestLog"},
		"a wrapped error": {fmt.Errorf("reading: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}), "*errors.errorString", "reading: open x", "TestLog"},
		"several":         {errors.Join(errors.New("one"), errors.New("two")), "*errors.joinError", "one\ntwo", "TestLog"},
		"a panic":         {caught(func() { breaks() }), "*unexpected.panicked", "panic: broken", "breaks"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			ctx := requestid.NewContext(t.Context(), "the-request")
			unexpected.Log(ctx, slog.New(slog.NewJSONHandler(&out, nil)), "trying", c.err, "person", "p1")
			var r map[string]string
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			if r["level"] != "ERROR" || r["msg"] != "trying" || r["request_id"] != "the-request" || r["person"] != "p1" ||
				r["error_name"] != c.errorName || !strings.Contains(r["error"], c.says) || !strings.Contains(r["stack"], c.at) {
				t.Errorf("%v", r)
			}
		})
	}
}

func breaks() { panic("broken") }

func caught(f func()) (err error) {
	defer func() { err = unexpected.Recovered(recover()) }()
	f()
	return nil
}
