package admin

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// ListAudit lists who did what and who was refused, newest first.
func ListAudit(a Audit) *operation.Def {
	return operation.Operation[AuditInput, operation.Page[AuditItem]]{
		Name:     "list_audit",
		Title:    "Read the audit",
		Doc:      "Lists what was changed and what was refused, newest first, with who, through which client and when.",
		Route:    "GET /admin/audit",
		Command:  "admin audit",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[AuditInput](policies.ReadAudit),
		Handle: func(ctx context.Context, _ *operation.Call, in AuditInput) (operation.Page[AuditItem], error) {
			var none operation.Page[AuditItem]
			offset, err := in.Offset()
			if err != nil {
				return none, err
			}
			rows, total, err := a.ListAudit(ctx, knowledge.AuditFilter{
				Principal: in.Principal, Action: in.Action, Outcome: in.Outcome, Client: in.Client, Since: in.Since, Until: in.Until,
			}, knowledge.Range{Offset: offset, Limit: in.Limit})
			if err != nil {
				return none, err
			}
			items := make([]AuditItem, len(rows))
			for i, r := range rows {
				items[i] = AuditItem{
					At: r.At.UTC(), Principal: r.PrincipalName, PrincipalID: r.PrincipalID, PrincipalKind: r.PrincipalKind,
					Via: r.Via, ClientID: r.ClientID, Address: r.Address, RequestID: r.RequestID,
					Action: r.Action, Outcome: r.Outcome, Element: r.Element, Reason: r.Reason,
				}
				if len(r.Detail) > 0 {
					detail, err := json.Marshal(r.Detail)
					if err != nil {
						return none, err
					}
					items[i].Detail = string(detail)
				}
			}
			return operation.NewPage(items, offset, total, 0), nil
		},
	}.Def()
}

// AuditInput is the input of [ListAudit].
type AuditInput struct {
	Principal string    `json:"principal,omitempty" doc:"Email or id of whoever acted" maxLength:"320"`
	Action    string    `json:"action,omitempty" doc:"Name of an operation or event" maxLength:"100" example:"execute_dax"`
	Outcome   string    `json:"outcome,omitempty" doc:"How it ended" enum:"allow,deny,error"`
	Client    string    `json:"client,omitempty" doc:"Id of a client" maxLength:"500"`
	Since     time.Time `json:"since,omitzero" doc:"Not older than this"`
	Until     time.Time `json:"until,omitzero" doc:"Older than this"`
	operation.PageInput
}

// An AuditItem is a row of the audit.
type AuditItem struct {
	At            time.Time `json:"at" doc:"When"`
	Principal     string    `json:"principal" doc:"Email or name of whoever acted"`
	PrincipalID   string    `json:"principal_id" doc:"Id of whoever acted"`
	PrincipalKind string    `json:"principal_kind" doc:"person, service_account or system"`
	Via           string    `json:"via" doc:"Through what"`
	ClientID      string    `json:"client_id,omitempty" doc:"Id of the client"`
	Address       string    `json:"address,omitempty" doc:"Address of the client"`
	RequestID     string    `json:"request_id,omitempty" doc:"Id of the request"`
	Action        string    `json:"action" doc:"What was called or happened"`
	Outcome       string    `json:"outcome" doc:"allow, deny or error"`
	Element       string    `json:"element,omitempty" doc:"What it was done to"`
	Reason        string    `json:"reason,omitempty" doc:"Why it was refused"`
	Detail        string    `json:"detail,omitempty" doc:"References and counts, as JSON" cut:"text"`
}
