package dataset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Write writes what the book itself says of a dataset or something in it.
func Write(s Store) *operation.Def {
	return operation.Operation[WriteInput, WriteOutput]{
		Name:  "write_description",
		Title: "Write a description of your own",
		Doc: "Writes what people here say of a dataset, or of a table, column or measure in it, beside what Power BI says; no " +
			"sync changes it. Custom fields are texts of a name; a policy may decide queries by those of a dataset.",
		Route:    "PUT /datasets/{dataset}/description",
		Command:  "datasets describe <dataset> <description>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnBookOf(policies.Curate, func(in WriteInput) string { return in.Dataset }),
		Handle: func(ctx context.Context, c *operation.Call, in WriteInput) (WriteOutput, error) {
			ref, err := in.reference(c.Dataset.ID)
			if err != nil {
				return WriteOutput{}, err
			}
			custom, err := customFields(in.Custom)
			if err != nil {
				return WriteOutput{}, err
			}
			written, own, err := s.WriteOwn(ctx, c.View, ref, knowledge.OwnText{Description: in.Description, Custom: custom, Version: in.Version})
			if errors.Is(err, knowledge.ErrNotFound) {
				if ref.Kind == knowledge.TheDataset {
					return WriteOutput{}, operation.Missing("dataset", in.Dataset, nil)
				}
				return WriteOutput{}, operation.Missing(string(ref.Kind), ref.String(), nil)
			}
			if changed, ok := errors.AsType[*knowledge.VersionError](err); ok {
				return WriteOutput{}, &operation.Error{
					Kind: operation.Conflict, Sentence: fmt.Sprintf("Somebody wrote meanwhile: it is at version %d.", changed.Current),
					Next: "Read it again, and write with that version.", Cause: err,
				}
			}
			if err != nil {
				return WriteOutput{}, err
			}
			return WriteOutput{
				Dataset: c.Dataset.Name, DatasetID: c.Dataset.ID, Reference: written.String(),
				OwnDescription: own.Description, Custom: fieldsOf(own.Custom), OwnVersion: own.Version,
			}, nil
		},
	}.Def()
}

// fieldName is the name of a custom field.
var fieldName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func customFields(set []FieldSetting) (map[string]string, error) {
	fields := map[string]string{}
	for _, s := range set {
		name, value, found := strings.Cut(string(s), "=")
		_, twice := fields[name]
		switch {
		case !found || !fieldName.MatchString(name):
			return nil, operation.Invalidf("Write department=Retail: lower-case words joined by underscores, = and the text.", "%q does not set a custom field.", s)
		case twice:
			return nil, operation.Invalidf("Give it once.", "The custom field %q is set twice.", name)
		}
		fields[name] = value
	}
	return fields, nil
}

// WriteInput is the input of [Write].
type WriteInput struct {
	Dataset     string         `json:"dataset" doc:"Id, name, workspace/name, or an address of Power BI" minLength:"1" maxLength:"500" example:"Sales"`
	Description string         `json:"description" doc:"What to say; empty says nothing" maxLength:"4000" example:"Orders of the web shop, without returns"`
	Table       string         `json:"table,omitempty" doc:"Name of a table: of the one that is meant, or of the column's" maxLength:"200" example:"Customer"`
	Column      string         `json:"column,omitempty" doc:"Name of the column that is meant, with its table" maxLength:"200"`
	Measure     string         `json:"measure,omitempty" doc:"Name of the measure that is meant" maxLength:"200"`
	Version     int64          `json:"version,omitempty" doc:"own_version as you read it; leave out where nothing was written yet" minimum:"0"`
	Custom      []FieldSetting `json:"custom,omitempty" doc:"Custom fields to set, each as name=text; nothing after = takes the field away" maxItems:"50"`
}

// A FieldSetting sets a custom field: its name, = and its text.
type FieldSetting string

// Schema says how long it may be.
func (FieldSetting) Schema(huma.Registry) *huma.Schema {
	longest := 1000
	s := &huma.Schema{Type: huma.TypeString, MaxLength: &longest}
	s.PrecomputeMessages()
	return s
}

// A Field is a custom field.
type Field struct {
	Name  string `json:"name" doc:"Name"`
	Value string `json:"value" doc:"Its text (untrusted text)" cut:"text"`
}

// fieldsOf leaves out what is no text: only texts are written here.
func fieldsOf[V any](custom map[string]V) []Field {
	fields := []Field{}
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		if text, ok := any(custom[name]).(string); ok {
			fields = append(fields, Field{name, text})
		}
	}
	return fields
}

func (in WriteInput) reference(dataset string) (knowledge.ElementRef, error) {
	ref := knowledge.ElementRef{Kind: knowledge.TheDataset, DatasetID: dataset, Table: in.Table}
	switch {
	case in.Column != "" && in.Measure != "":
		return ref, operation.Invalidf("Name one of them.", "Both a column and a measure are named.")
	case in.Column != "" && in.Table == "":
		return ref, operation.Invalidf("Give its table too.", "A column is named without its table.")
	case in.Column != "":
		ref.Kind, ref.Name = knowledge.AColumn, in.Column
	case in.Measure != "":
		ref.Kind, ref.Name = knowledge.AMeasure, in.Measure
	case in.Table != "":
		ref.Kind = knowledge.ATable
	}
	return ref, nil
}

// WriteOutput is the output of [Write].
type WriteOutput struct {
	Dataset        string  `json:"dataset" doc:"Name of the dataset"`
	DatasetID      string  `json:"dataset_id" doc:"Id of the dataset" format:"uuid"`
	Reference      string  `json:"reference,omitempty" doc:"What in it was described; absent for the dataset itself"`
	OwnDescription string  `json:"own_description" doc:"What people say of it here (untrusted text)" cut:"text"`
	Custom         []Field `json:"custom" doc:"Its custom fields"`
	OwnVersion     int64   `json:"own_version" doc:"The version that this became"`
}
