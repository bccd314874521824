package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

type counter struct {
	io.Reader
	read int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

func (c *counter) Close() error { return nil }

// FETCH-04
func TestBodyReadsOneByteBeyondTheLimitAndStops(t *testing.T) {
	under := &counter{Reader: bytes.NewReader(make([]byte, 1<<20))}
	b := &body{ReadCloser: under, ctx: context.Background(), cancel: func() {}, left: 1000}
	got, err := io.ReadAll(b)
	if !errors.Is(err, ErrTooLarge) || len(got) != 1000 {
		t.Errorf("got %d bytes and %v", len(got), err)
	}
	if under.read != 1001 {
		t.Errorf("read %d bytes, want 1001", under.read)
	}
	if _, err := b.Read(make([]byte, 10)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a further read: %v", err)
	}
}
