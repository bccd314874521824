package powerbi

import (
	"encoding/json"
	"errors"
	"strings"
)

// workspace reads one workspace piece by piece, so that no more of a large one is
// in memory as text than one dataset. A piece that is of another shape than Power
// BI documents is counted and left out; without its id or its list of users the
// workspace is as good as not there.
func (r *reader) workspace() (*Workspace, error) {
	w, broken := &Workspace{}, 0
	err := r.object(func(key string) error {
		switch strings.ToLower(key) {
		case "id":
			return r.lenient(&w.ID, &broken)
		case "name":
			return r.lenient(&w.Name, &broken)
		case "description":
			return r.lenient(&w.Description, &w.Unreadable)
		case "type":
			return r.lenient(&w.Type, &w.Unreadable)
		case "state":
			return r.lenient(&w.State, &broken)
		case "dataretrievalstate":
			return r.lenient(&w.DataRetrievalState, &broken)
		case "users":
			return r.lenient(&w.Users, &broken)
		case "datasets":
			return pieces(r, &w.Datasets, w)
		case "reports":
			return pieces(r, &w.Reports, w)
		}
		return r.Decode(new(skipped))
	})
	if broken > 0 {
		w.DataRetrievalState = "unreadable"
	}
	return w, err
}

// lenient reads a value into out, or counts it where it is of another type.
func (r *reader) lenient(out any, odd *int) error {
	err := r.Decode(out)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		*odd++
		return nil // the decoder stands behind the value
	}
	return err
}

// pieces reads a list, but for the pieces of another shape.
func pieces[T any](r *reader, list *[]T, w *Workspace) error {
	return r.array(func() error {
		var one T
		before := w.Unreadable
		if err := r.lenient(&one, &w.Unreadable); err != nil {
			return err
		}
		if w.Unreadable == before {
			*list = append(*list, one)
		}
		return nil
	})
}
