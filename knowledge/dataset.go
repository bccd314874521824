package knowledge

import (
	"time"

	"github.com/pbmb/pbmb/policies"
)

// A Dataset is a semantic model of the tenant as the mirror has it.
type Dataset struct {
	ID               string // uuid, Power BI's own
	Name             string
	WorkspaceID      string
	Workspace        string // the workspace's name
	AppIDs           []string
	AppNames         []string
	Description      string // Power BI's
	OwnDescription   string // the book's
	Endorsement      string // Promoted, Certified or empty
	SensitivityLabel string
	HasRowSecurity   bool
	SchemaError      string // why Power BI gave no tables; empty where it gave them
	ConfiguredBy     string
	Custom           map[string]any
	SeenAt           time.Time // when the last scan saw it
}

// Resource returns the dataset as policies know it.
func (d *Dataset) Resource() policies.Resource {
	custom := d.Custom
	if custom == nil {
		custom = map[string]any{}
	}
	return policies.Resource{Kind: policies.KindDataset, ID: d.ID, Attr: map[string]any{
		"workspace_id":           d.WorkspaceID,
		"workspace_name":         d.Workspace,
		"app_ids":                list(d.AppIDs),
		"app_names":              list(d.AppNames),
		"has_row_level_security": d.HasRowSecurity,
		"endorsement":            d.Endorsement,
		"sensitivity_label":      d.SensitivityLabel,
		"custom":                 custom,
	}}
}

// list returns a list that policies see as one even when it is empty.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
