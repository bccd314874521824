package sample

import (
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// writeScanned writes a workspace as a scan's result tells it, dataset by dataset.
func writeScanned(s *stream, ws *workspace, ask scanFlags) {
	s.open(scannedSpace(ws, ask))
	s.raw(`"datasets":`)
	array(s, slices.Values(slices.Clone(ws.datasets)), func(d *dataset) { s.value(scannedDataset(d, ask)) })
	s.raw("}")
}

// scannedSpace is a workspace without its datasets.
func scannedSpace(ws *workspace, ask scanFlags) object {
	out := object{
		"id": ws.id, "name": ws.name, "description": ws.description, "type": ws.kind, "state": "Active",
		"isOnDedicatedCapacity": ws.kind == "Workspace", "dataRetrievalState": "Success",
		"defaultDatasetStorageFormat": "Small", "dashboards": scannedDashboards(ws, ask), "dataflows": []object{}, "datamarts": []object{},
	}
	if ws.kind == "Workspace" {
		out["capacityId"] = capacityID
	}
	reports := []object{}
	for _, r := range ws.reports {
		reports = append(reports, scannedReport(r, ask))
	}
	if ws.app != nil { // an app's copy stands beside its original
		for _, r := range ws.app.reports {
			entry := scannedReport(r, ask)
			entry["name"] = "[App] " + r.name
			entry["appId"], entry["originalReportObjectId"] = r.app.id, r.original.id
			reports = append(reports, entry)
		}
	}
	out["reports"] = reports
	for kind, names := range ws.items { // Fabric items come under keys of their own
		items := []object{}
		for _, n := range names {
			items = append(items, object{
				"id": id(kind, ws.name+"/"+n), "name": n, "state": "Active", "lastUpdatedDate": "2026-03-01T10:00:00",
				"users": scannedUsers(ask, live(ws.users), "artifactUserAccessRight", "ReadAll"),
			})
		}
		out[kind] = items
	}
	if ask.users {
		users := []object{}
		for _, a := range live(ws.users) {
			users = append(users, userEntry(a, "groupUserAccessRight", true))
		}
		out["users"] = users
	}
	return out
}

// scannedUsers gives everybody in a list the same right, or nothing where users
// were not asked for.
func scannedUsers(ask scanFlags, list []access, key, right string) []object {
	users := []object{}
	if !ask.users {
		return users
	}
	for _, a := range list {
		users = append(users, userEntry(access{to: a.to, right: right}, key, true))
	}
	return users
}

func scannedDashboards(ws *workspace, ask scanFlags) []object {
	out := []object{}
	for _, d := range ws.dashboards() {
		tiles := []object{}
		for _, tile := range d.tiles() {
			entry := object{"id": tile.id, "title": tile.report.name, "reportId": tile.report.id, "datasetId": tile.report.dataset.id}
			if ask.lineage {
				entry["datasetWorkspaceId"] = tile.report.dataset.space.id
			}
			tiles = append(tiles, entry)
		}
		out = append(out, object{
			"id": d.id, "displayName": d.name, "isReadOnly": false, "tiles": tiles,
			"users": scannedUsers(ask, live(ws.users), "dashboardUserAccessRight", "Read"),
		})
	}
	return out
}

func scannedReport(r *report, ask scanFlags) object {
	out := object{
		"id": r.id, "name": r.name, "reportType": "PowerBIReport", "datasetId": r.dataset.id,
		"createdDateTime": "2025-02-01T08:00:00.1", "modifiedDateTime": "2026-06-02T09:30:00.123",
		"createdBy": r.by.upn, "createdById": r.by.id, "modifiedBy": r.by.upn, "modifiedById": r.by.id,
		"users": scannedUsers(ask, []access{{to: r.by}}, "reportUserAccessRight", "Owner"),
	}
	if ask.lineage {
		out["datasetWorkspaceId"] = r.dataset.space.id
	}
	return out
}

func scannedDataset(d *dataset, ask scanFlags) object {
	out := object{
		"id": d.id, "name": d.name, "configuredBy": d.by.upn, "configuredById": d.by.id,
		"createdDate": "2023-02-01T08:15:00.123Z", "targetStorageMode": "Abf", "contentProviderType": "PbixInImportMode",
		"isEffectiveIdentityRequired":      len(d.model().Roles) > 0,
		"isEffectiveIdentityRolesRequired": len(d.model().Roles) > 0,
		"refreshSchedule":                  refreshSchedule(),
		"upstreamDatasets":                 []object{}, "upstreamDatamarts": []object{}, "tags": []object{},
		"users": []object{},
	}
	if d.description != "" {
		out["description"] = d.description
	}
	if d.endorsement != "" {
		e := object{"endorsement": d.endorsement}
		if d.certifiedBy != nil {
			e["certifiedBy"] = d.certifiedBy.upn
		}
		out["endorsementDetails"] = e
	}
	if d.label != "" {
		out["sensitivityLabel"] = object{"labelId": id("label", d.label)}
	}
	if ask.datasources {
		out["datasourceUsages"] = []object{{"datasourceInstanceId": id("datasource", d.id)}}
		out["misconfiguredDatasourceUsages"] = []object{}
	}
	if ask.users {
		users := []object{}
		for _, a := range rightsGiven(d) {
			users = append(users, userEntry(a, "datasetUserAccessRight", true))
		}
		out["users"] = users
	}
	if ask.schema {
		scannedSchema(out, d, ask.expressions)
	}
	return out
}

// scannedSchema adds tables and roles, or the reason why there are none.
// Relationships, calculation groups and functions a scan never has.
func scannedSchema(out object, d *dataset, expressions bool) {
	switch {
	case hidesObjects(d.model()):
		out["tables"] = []object{}
		out["schemaRetrievalError"] = "Unable to retrieve the schema of this dataset: datasets with object-level security are not supported."
		return
	case d.hole == holeError:
		out["tables"] = []object{}
		out["schemaRetrievalError"] = "Unable to retrieve the schema of this dataset: its model could not be loaded."
		return
	case d.hole == holeNeverRefreshed:
		return
	}
	out["schemaMayNotBeUpToDate"] = d.hole == holeStale
	tables := []object{}
	for i := range d.model().Tables {
		tables = append(tables, scannedTable(d, &d.model().Tables[i], expressions))
	}
	out["tables"] = tables
	if len(d.model().Roles) > 0 {
		roles := []object{}
		for _, r := range d.model().Roles {
			roles = append(roles, scannedRole(d, r))
		}
		out["roles"] = roles
	}
	if expressions {
		out["expressions"] = []object{{
			"name": "Server", "description": "",
			"expression": `"warehouse.sample.example" meta [IsParameterQuery=true, Type="Text", IsParameterQueryRequired=true]`,
		}}
	}
}

// Columns and measures are most of a scan, so they have types of their own, which
// are written several times as fast as an object. The real answers leave out what
// was not asked for and descriptions that are empty.
type (
	columnEntry struct {
		Name        string  `json:"name"`
		DataType    string  `json:"dataType"`
		Hidden      bool    `json:"isHidden"`
		Kind        string  `json:"columnType"`
		Description string  `json:"description,omitempty"`
		Expression  *string `json:"expression,omitempty"`
	}
	measureEntry struct {
		Name        string  `json:"name"`
		Expression  *string `json:"expression,omitempty"`
		Description string  `json:"description,omitempty"`
		Hidden      bool    `json:"isHidden"`
	}
)

func scannedTable(d *dataset, tbl *knowledge.Table, expressions bool) object {
	columns, measures := make([]columnEntry, 0, len(tbl.Columns)+1), make([]measureEntry, 0, len(tbl.Measures))
	for i := range tbl.Columns {
		c := &tbl.Columns[i]
		entry := columnEntry{Name: c.Name, DataType: scannedType(c.DataType), Hidden: c.Hidden, Kind: "Data", Description: c.Description}
		if c.Expression != "" {
			entry.Kind = "Calculated"
			if expressions {
				entry.Expression = &c.Expression
			}
		}
		columns = append(columns, entry)
	}
	columns = append(columns, columnEntry{
		Name: "RowNumber-2662979B-1795-4F74-8F37-6A1BA8059B61", DataType: "Int64", Hidden: true, Kind: "RowNumber",
	})
	for i := range tbl.Measures {
		m := &tbl.Measures[i]
		entry := measureEntry{Name: m.Name, Description: m.Description, Hidden: m.Hidden}
		if expressions {
			entry.Expression = &m.Expression
		}
		measures = append(measures, entry)
	}
	out := object{"name": tbl.Name, "isHidden": tbl.Hidden, "storageMode": "Import", "columns": columns, "measures": measures}
	if tbl.Description != "" {
		out["description"] = tbl.Description
	}
	if expressions && tbl.Expression == "" {
		out["source"] = []object{{"expression": "let\n    Source = Sql.Database ( Server, \"" + d.name + "\" ),\n    Rows = Source{[Schema=\"dbo\", Item=\"" + tbl.Name + "\"]}[Data]\nin\n    Rows"}}
	} else if expressions {
		out["source"] = []object{{"expression": tbl.Expression}}
	}
	return out
}

// scannedType is a data type as the admin API spells it.
func scannedType(t knowledge.DataType) string {
	if t == knowledge.Int64 {
		return "Int64"
	}
	return strings.ToUpper(string(t[:1])) + string(t[1:])
}

func scannedRole(d *dataset, r knowledge.Role) object {
	members := []object{}
	for _, m := range d.members {
		if m.role != r.Name || !m.until.IsZero() {
			continue
		}
		entry := object{"memberId": m.who.objectID(), "identityProvider": "AzureAD"}
		switch p := m.who.(type) {
		case *person:
			entry["memberName"], entry["memberType"] = p.upn, "User"
		case *group:
			entry["memberName"], entry["memberType"] = p.name, "Group"
		}
		members = append(members, entry)
	}
	permissions := []object{}
	for _, p := range r.Tables {
		permissions = append(permissions, object{"name": p.Table, "filterExpression": p.Filter})
	}
	return object{"name": r.Name, "modelPermission": "Read", "members": members, "tablePermissions": permissions}
}
