package cerbos

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/cerbos/cerbos-sdk-go/cerbos"
	enginev1 "github.com/cerbos/cerbos/api/genpb/cerbos/engine/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/pbmb/pbmb/policies"
)

// A question is what is asked of one principal, as bytes: two questions have the
// same key exactly when they are the same.
type question struct{ key []byte }

var keys = sync.Pool{New: func() any { return &question{key: make([]byte, 0, 512)} }}

func (q *question) free() {
	q.key = q.key[:0]
	keys.Put(q)
}

func checkQuestion(a policies.Action, r policies.Resource) (*question, error) {
	q := keys.Get().(*question)
	q.key = append(q.key, 'c')
	q.key = appendString(q.key, string(a))
	q.key = appendString(q.key, string(r.Kind))
	q.key = appendString(q.key, r.ID)
	var err error
	if q.key, err = appendValue(q.key, r.Attr); err != nil {
		q.free()
		return nil, err
	}
	return q, nil
}

func planQuestion(a policies.Action, k policies.Kind) *question {
	q := keys.Get().(*question)
	q.key = append(q.key, 'p')
	q.key = appendString(q.key, string(a))
	q.key = appendString(q.key, string(k))
	return q
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendValue writes an attribute so that different values differ and equal ones
// do not, whatever order a map is walked in.
func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, 'n'), nil
	case string:
		return appendString(append(b, 's'), v), nil
	case bool:
		if v {
			return append(b, 't'), nil
		}
		return append(b, 'f'), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 'd'), math.Float64bits(v)), nil
	case []string:
		b = binary.AppendUvarint(append(b, 'l'), uint64(len(v)))
		for _, s := range v {
			b = appendString(b, s)
		}
		return b, nil
	case []any:
		b = binary.AppendUvarint(append(b, 'a'), uint64(len(v)))
		var err error
		for _, e := range v {
			if b, err = appendValue(b, e); err != nil {
				return b, err
			}
		}
		return b, nil
	case map[string]any:
		b = binary.AppendUvarint(append(b, 'm'), uint64(len(v)))
		var few [12]string // so that the usual resource costs no allocation
		names := few[:0]
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		var err error
		for _, name := range names {
			b = appendString(b, name)
			if b, err = appendValue(b, v[name]); err != nil {
				return b, fmt.Errorf("attribute %s: %w", name, err)
			}
		}
		return b, nil
	}
	return b, fmt.Errorf("%T is not a value that policies know", v)
}

// principal says who asks. Every attribute is always sent, empty lists too:
// where one is missing, a plan comes back with a lookup in a struct that nothing
// can translate.
func principal(p *policies.Principal) *cerbos.Principal {
	visibility := p.MetadataVisibility
	if visibility == "" {
		visibility = policies.VisibleByPowerBI
	}
	return &cerbos.Principal{Obj: &enginev1.Principal{
		Id:    p.Subject(),
		Roles: p.Roles,
		Scope: Scope,
		Attr: map[string]*structpb.Value{
			"kind":                  structpb.NewStringValue(string(p.Kind)),
			"metadata_visibility":   structpb.NewStringValue(string(visibility)),
			"powerbi_workspace_ids": listValue(p.WorkspaceIDs),
			"powerbi_app_ids":       listValue(p.AppIDs),
			"powerbi_dataset_ids":   listValue(p.DatasetIDs),
		},
	}}
}

func resource(r policies.Resource) *cerbos.Resource {
	obj := &enginev1.Resource{Kind: string(r.Kind), Id: r.ID, Scope: Scope}
	if len(r.Attr) > 0 {
		obj.Attr = make(map[string]*structpb.Value, len(r.Attr))
		for name, v := range r.Attr {
			obj.Attr[name] = value(v)
		}
	}
	return &cerbos.Resource{Obj: obj}
}

// value expects what appendValue has taken.
func value(v any) *structpb.Value {
	switch v := v.(type) {
	case string:
		return structpb.NewStringValue(v)
	case bool:
		return structpb.NewBoolValue(v)
	case float64:
		return structpb.NewNumberValue(v)
	case []string:
		return listValue(v)
	case []any:
		list := &structpb.ListValue{Values: make([]*structpb.Value, len(v))}
		for i, e := range v {
			list.Values[i] = value(e)
		}
		return structpb.NewListValue(list)
	case map[string]any:
		s := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(v))}
		for name, e := range v {
			s.Fields[name] = value(e)
		}
		return structpb.NewStructValue(s)
	}
	return structpb.NewNullValue()
}

// listValue makes a list of ids out of three allocations rather than three for
// each id.
func listValue(ids []string) *structpb.Value {
	var (
		kinds  = make([]structpb.Value_StringValue, len(ids))
		values = make([]structpb.Value, len(ids))
		list   = make([]*structpb.Value, len(ids))
	)
	for i, id := range ids {
		kinds[i].StringValue = id
		values[i].Kind = &kinds[i]
		list[i] = &values[i]
	}
	return structpb.NewListValue(&structpb.ListValue{Values: list})
}
