package sample

import (
	"bytes"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"sync"
)

// pieceSize is from how many bytes on a piece of a stream is sent.
const pieceSize = 32 << 10

// A stream writes an answer in JSON piece by piece, so that a long one is never
// in memory as a whole. The tenant's lock, which the handler holds for reading, is
// let go while a piece is on its way: who reads slowly holds nobody up.
type stream struct {
	w    http.ResponseWriter
	lock *sync.RWMutex
	buf  bytes.Buffer
	enc  *json.Encoder
	gone bool // the client is
}

// stream starts an answer with the status 200. Its end is to be called last.
func (t *Tenant) stream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	s := &stream{w: w, lock: &t.mu}
	s.enc = json.NewEncoder(&s.buf)
	s.enc.SetEscapeHTML(false)
	return s
}

func (s *stream) raw(text string) { s.buf.WriteString(text) }

// value writes one value.
func (s *stream) value(v any) {
	if err := s.enc.Encode(v); err != nil {
		panic("an answer of the sample tenant is no JSON: " + err.Error()) // a mistake of ours alone
	}
	s.buf.Truncate(s.buf.Len() - 1) // the encoder's line end
}

// open writes an object without its end, for more members to follow.
func (s *stream) open(v object) {
	s.value(v)
	s.buf.Truncate(s.buf.Len() - 1)
	if len(v) > 0 {
		s.raw(",")
	}
}

// array writes the values of a sequence. It stops where the client is gone.
func array[V any](s *stream, values iter.Seq[V], write func(V)) {
	s.raw("[")
	first := true
	for v := range values {
		if !first {
			s.raw(",")
		}
		first = false
		write(v)
		if s.buf.Len() >= pieceSize && !s.send() {
			return
		}
	}
	s.raw("]")
}

// send sends what is written so far, and reports whether the client is still there.
func (s *stream) send() bool {
	if s.gone {
		return false
	}
	s.lock.RUnlock()
	defer s.lock.RLock()
	_, err := s.w.Write(s.buf.Bytes())
	s.buf.Reset()
	s.gone = err != nil
	return !s.gone
}

func (s *stream) end() {
	s.raw("\n")
	s.send()
}

// odataEach answers a list as Power BI does, as it comes.
func (t *Tenant) odataEach(w http.ResponseWriter, r *http.Request, of string, list iter.Seq[object]) {
	s := t.stream(w)
	s.open(object{"@odata.context": t.base(r) + root + "/$metadata#" + of})
	s.raw(`"value":`)
	array(s, list, func(o object) { s.value(o) })
	s.raw("}")
	s.end()
}

// cut cuts a list by $top and $skip.
func cut[V any](r *http.Request, list iter.Seq[V]) iter.Seq[V] {
	skip, _ := strconv.Atoi(r.URL.Query().Get("$skip")) // what is no number is as if it were not there
	top, err := strconv.Atoi(r.URL.Query().Get("$top"))
	if err != nil || top < 1 {
		top = -1
	}
	return func(yield func(V) bool) {
		skip, top := skip, top
		for v := range list {
			if skip > 0 {
				skip--
				continue
			}
			if !yield(v) {
				return
			}
			if top--; top == 0 {
				return
			}
		}
	}
}
