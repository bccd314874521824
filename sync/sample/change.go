package sample

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// A Change is something that can be done to a tenant while it serves. Declared
// once, it is a request of the test API (POST /_sample/ and Path, with the fields
// as JSON), a command below `pbmb sample`, and a row of the guide.
type Change struct {
	Path    string // below /_sample/
	Command string // the words of the command, and the fields that are arguments: "measure rename <dataset> <measure> <to>"
	Doc     string // what it does, a sentence without its full stop
	Fields  []Field

	do func(*Tenant, []byte) error
}

// A Field of a change's body.
type Field struct {
	Name string       // in JSON
	Doc  string       // what it means
	Kind reflect.Kind // String, Int or Bool
}

// declare makes a change of a function over its input, whose tags json and doc
// name and describe the fields.
func declare[In any](path, command, doc string, do func(*Tenant, In) error) Change {
	c := Change{Path: path, Command: command, Doc: doc, do: func(t *Tenant, body []byte) error {
		var in In
		if err := decode(body, &in); err != nil {
			return err
		}
		return do(t, in)
	}}
	c.Fields = fieldsOf(reflect.TypeFor[In]())
	return c
}

// decode reads one JSON object strictly.
func decode(body []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("the body is more than one JSON object")
	}
	return nil
}

// fieldsOf lists the fields of an input, embedded ones in place.
func fieldsOf(in reflect.Type) []Field {
	var list []Field
	for f := range in.Fields() {
		if f.Anonymous {
			list = append(list, fieldsOf(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		list = append(list, Field{Name: name, Doc: f.Tag.Get("doc"), Kind: f.Type.Kind()})
	}
	return list
}

// What the inputs of changes are made of. Whatever has a name may be given by its
// id as well.
type (
	inWorkspace struct {
		Workspace string `json:"workspace" doc:"name or id of a workspace"`
	}
	inDataset struct {
		Dataset string `json:"dataset" doc:"name or id of a dataset"`
	}
	inTable struct {
		inDataset
		Table string `json:"table" doc:"a table"`
	}
	inColumn struct {
		inTable
		Column string `json:"column" doc:"a column of it"`
	}
	inMeasure struct {
		inDataset
		Measure string `json:"measure" doc:"a measure"`
	}
	inRole struct {
		inDataset
		Role string `json:"role" doc:"a security role"`
	}
	inPerson struct {
		Person string `json:"person" doc:"sign-in name or email"`
	}
	inTo struct {
		To string `json:"to" doc:"the new name"`
	}
	inExpression struct {
		Expression string `json:"expression" doc:"DAX, which may be wrong"`
	}
	nothing struct{}
)

// Changes are all that can be done to a tenant while it serves.
func Changes() []Change {
	var list []Change
	for _, part := range [][]Change{workspaceChanges(), datasetChanges(), modelChanges(), roleChanges(), peopleChanges(), faultChanges()} {
		list = append(list, part...)
	}
	return list
}
