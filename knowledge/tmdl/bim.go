package tmdl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// The parts of a TMSL document that are read. Names of properties compare
// without letter case, as encoding/json does by itself.
type (
	bimFile struct {
		Name  string
		Model *bimModel
		// A script that makes the database wraps it.
		CreateOrReplace *struct{ Database bimFile }
		Create          *struct{ Database bimFile }
	}
	bimModel struct {
		Name          string
		Tables        []bimTable
		Relationships []bimRelationship
		Roles         []bimRole
		Functions     []struct {
			Name       string
			Expression lines
		}
	}
	bimTable struct {
		Name             string
		Description      lines
		IsHidden         bool
		Columns          []bimColumn
		Measures         []bimMeasure
		Partitions       []struct{ Source bimSource }
		CalculationGroup *struct {
			Precedence       int
			CalculationItems []struct {
				Name       string
				Expression lines
				Ordinal    *int
			}
		}
	}
	bimSource struct {
		Type       string
		Expression lines
	}
	bimColumn struct {
		Name          string
		Description   lines
		Type          string
		DataType      string
		IsHidden      bool
		IsKey         bool
		Expression    lines
		SourceColumn  string
		SortByColumn  string
		FormatString  string
		DisplayFolder string
		Variations    []struct {
			Name             string
			Relationship     string
			DefaultHierarchy struct{ Table string }
		}
	}
	bimMeasure struct {
		Name                 string
		Description          lines
		Expression           lines
		FormatString         string
		IsHidden             bool
		DisplayFolder        string
		DetailRowsDefinition *struct{ Expression lines }
	}
	bimRelationship struct {
		Name                      string
		FromTable, FromColumn     string
		ToTable, ToColumn         string
		IsActive                  *bool
		CrossFilteringBehavior    string
		SecurityFilteringBehavior string
		FromCardinality           string
		ToCardinality             string
	}
	bimRole struct {
		Name    string
		Members []struct {
			MemberName, MemberID, MemberType string
		}
		TablePermissions []struct {
			Name               string
			FilterExpression   lines
			MetadataPermission string
			ColumnPermissions  []struct{ Name, MetadataPermission string }
		}
	}
)

// lines is a text that TMSL writes as one string or as a list of lines.
type lines string

func (l *lines) UnmarshalJSON(data []byte) error {
	var list []string
	if err := json.Unmarshal(data, &list); err == nil {
		*l = lines(strings.Join(list, "\n"))
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*l = lines(text)
	return nil
}

// trimmed is the text without the blanks at its ends.
func (l lines) trimmed() string { return strings.TrimSpace(string(l)) }

// ParseBIM reads a TMSL document: a database, or a script that makes one.
func ParseBIM(data []byte) (*knowledge.Model, error) {
	var f bimFile
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &f); err != nil {
		return nil, fmt.Errorf("reading TMSL: %w", err)
	}
	switch {
	case f.CreateOrReplace != nil:
		f = f.CreateOrReplace.Database
	case f.Create != nil:
		f = f.Create.Database
	}
	if f.Model == nil {
		return nil, fmt.Errorf(`%w: the TMSL document has no "model"`, ErrNoModel)
	}
	m := &knowledge.Model{Name: f.Name, RelationshipsKnown: true}
	for _, t := range f.Model.Tables {
		m.Tables = append(m.Tables, t.table())
	}
	for _, r := range f.Model.Relationships {
		m.Relationships = append(m.Relationships, r.relationship())
	}
	for _, r := range f.Model.Roles {
		m.Roles = append(m.Roles, r.role())
	}
	for _, fn := range f.Model.Functions {
		m.Functions = append(m.Functions, knowledge.Function{Name: fn.Name, Expression: fn.Expression.trimmed()})
	}
	return m, nil
}

func (t bimTable) table() knowledge.Table {
	out := knowledge.Table{Name: t.Name, Description: t.Description.trimmed(), Hidden: t.IsHidden}
	for _, c := range t.Columns {
		if strings.EqualFold(c.Type, "rowNumber") {
			continue
		}
		col := knowledge.Column{
			Name: c.Name, Description: c.Description.trimmed(), DataType: dataType(c.DataType),
			Hidden: c.IsHidden, Key: c.IsKey, SourceColumn: c.SourceColumn, SortBy: c.SortByColumn,
			FormatString: c.FormatString, Folder: c.DisplayFolder,
		}
		if strings.EqualFold(c.Type, "calculated") {
			col.Expression = c.Expression.trimmed()
		}
		for _, v := range c.Variations {
			col.Variations = append(col.Variations, knowledge.Variation{
				Name: v.Name, Relationship: v.Relationship, Table: v.DefaultHierarchy.Table,
			})
		}
		out.Columns = append(out.Columns, col)
	}
	for _, m := range t.Measures {
		measure := knowledge.Measure{
			Name: m.Name, Description: m.Description.trimmed(), Expression: m.Expression.trimmed(),
			FormatString: m.FormatString, Hidden: m.IsHidden, Folder: m.DisplayFolder,
		}
		if m.DetailRowsDefinition != nil {
			measure.DetailRows = m.DetailRowsDefinition.Expression.trimmed()
		}
		out.Measures = append(out.Measures, measure)
	}
	for _, p := range t.Partitions {
		if strings.EqualFold(p.Source.Type, "calculated") {
			out.Expression = p.Source.Expression.trimmed()
		}
	}
	if t.CalculationGroup != nil {
		out.Precedence = t.CalculationGroup.Precedence
		for i, item := range t.CalculationGroup.CalculationItems {
			ordinal := i
			if item.Ordinal != nil {
				ordinal = *item.Ordinal
			}
			out.Items = append(out.Items, knowledge.CalculationItem{
				Name: item.Name, Expression: item.Expression.trimmed(), Ordinal: ordinal,
			})
		}
	}
	return out
}

func (r bimRelationship) relationship() knowledge.Relationship {
	return knowledge.Relationship{
		Name:      r.Name,
		FromTable: r.FromTable, FromColumn: r.FromColumn, ToTable: r.ToTable, ToColumn: r.ToColumn,
		Inactive:   r.IsActive != nil && !*r.IsActive,
		BothFilter: strings.EqualFold(r.CrossFilteringBehavior, "bothDirections"),
		BothSecure: strings.EqualFold(r.SecurityFilteringBehavior, "bothDirections"),
		FromOne:    strings.EqualFold(r.FromCardinality, "one"),
		ToMany:     strings.EqualFold(r.ToCardinality, "many"),
	}
}

func (r bimRole) role() knowledge.Role {
	out := knowledge.Role{Name: r.Name}
	for _, m := range r.Members {
		out.Members = append(out.Members, knowledge.RoleMember{Name: m.MemberName, ObjectID: m.MemberID, Kind: m.MemberType})
	}
	for _, p := range r.TablePermissions {
		t := knowledge.TablePermission{
			Table: p.Name, Filter: p.FilterExpression.trimmed(),
			Hidden: strings.EqualFold(p.MetadataPermission, "none"),
		}
		for _, c := range p.ColumnPermissions {
			if strings.EqualFold(c.MetadataPermission, "none") {
				t.HiddenColumns = append(t.HiddenColumns, c.Name)
			}
		}
		out.Tables = append(out.Tables, t)
	}
	return out
}
