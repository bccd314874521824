package admin

import (
	"context"
	"errors"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A GrantItem is somebody's standing grant as admins see it.
type GrantItem struct {
	ID          string    `json:"id" doc:"Id of the grant"`
	PersonID    string    `json:"person_id" doc:"Id of the person who gave it" format:"uuid"`
	Person      string    `json:"person" doc:"Their email"`
	ClientID    string    `json:"client_id" doc:"Id of the client"`
	ClaimedName string    `json:"claimed_name,omitempty" doc:"What the client calls itself (untrusted text)"`
	Registered  string    `json:"registered" doc:"How the client came: registered, metadata_document or built_in"`
	Scopes      []string  `json:"scopes" doc:"What was allowed"`
	CreatedAt   time.Time `json:"created_at" doc:"When the person pressed Allow"`
	LastUsedAt  time.Time `json:"last_used_at" doc:"When a token was last issued under it"`
}

// ListGrants lists the clients that people let in.
func ListGrants(g Grants) *operation.Def {
	return operation.Operation[ListGrantsInput, operation.Page[GrantItem]]{
		Name:     "list_grants",
		Title:    "List the clients that people let in",
		Doc:      "Lists every standing permission that anybody gave to a client, the newest first.",
		Route:    "GET /admin/grants",
		Command:  "admin grants list",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListGrantsInput](policies.RevokeConnection),
		Handle: func(ctx context.Context, _ *operation.Call, in ListGrantsInput) (operation.Page[GrantItem], error) {
			var none operation.Page[GrantItem]
			offset, err := in.Offset()
			if err != nil {
				return none, err
			}
			found, total, err := g.ListGrants(ctx, in.Person, knowledge.Range{Offset: offset, Limit: in.Limit})
			if err != nil {
				return none, err
			}
			items := make([]GrantItem, len(found))
			for i, f := range found {
				items[i] = GrantItem{
					ID: f.ID, PersonID: f.PersonID, Person: f.Person, ClientID: f.ClientID, ClaimedName: f.ClientName, Registered: f.Registered,
					Scopes: f.Scopes, CreatedAt: f.CreatedAt.UTC(), LastUsedAt: f.LastUsedAt.UTC(),
				}
			}
			return operation.NewPage(items, offset, total, 0), nil
		},
	}.Def()
}

// ListGrantsInput is the input of [ListGrants].
type ListGrantsInput struct {
	Person string `json:"person,omitempty" doc:"Email or id of the person; leave out for everybody" maxLength:"320"`
	operation.PageInput
}

// RevokeGrant ends anybody's grant.
func RevokeGrant(g Grants) *operation.Def {
	return operation.Operation[RevokeGrantInput, RevokeGrantOutput]{
		Name:     "revoke_grant",
		Title:    "Shut out a client that somebody let in",
		Doc:      "Ends a permission that somebody gave to a client, by its id from the list. The client's tokens stop with its next request.",
		Route:    "DELETE /admin/grants/{grant}",
		Command:  "admin grants revoke <grant>",
		Surfaces: operation.API,
		Effect:   operation.Removes,
		Ask:      operation.OnAdmin[RevokeGrantInput](policies.RevokeConnection),
		Handle: func(ctx context.Context, c *operation.Call, in RevokeGrantInput) (RevokeGrantOutput, error) {
			err := g.RevokeGrant(ctx, c.Principal, in.Grant)
			if errors.Is(err, knowledge.ErrNotFound) {
				return RevokeGrantOutput{}, &operation.Error{Kind: operation.NotFound, Sentence: "There is no such grant.", Next: "The list of grants has their ids."}
			}
			return RevokeGrantOutput{Ended: in.Grant}, err
		},
	}.Def()
}

// RevokeGrantInput is the input of [RevokeGrant].
type RevokeGrantInput struct {
	Grant string `json:"grant" doc:"Id of the grant, from the list of grants" minLength:"1" maxLength:"100"`
}

// RevokeGrantOutput is the output of [RevokeGrant].
type RevokeGrantOutput struct {
	Ended string `json:"ended" doc:"Id of the grant that has ended"`
}
