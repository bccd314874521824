package me

import (
	"context"
	"errors"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/tools/operation"
)

// ListGrants lists the clients that the caller has let in.
func ListGrants(s Store) *operation.Def {
	return operation.Operation[ListGrantsInput, operation.Page[GrantItem]]{
		Name:     "list_my_grants",
		Title:    "List the clients you let in",
		Doc:      "Lists every standing permission that you gave to a client, the newest first.",
		Route:    "GET /me/grants",
		Command:  "me grants",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OwnAccount[ListGrantsInput](),
		Handle: func(ctx context.Context, c *operation.Call, in ListGrantsInput) (operation.Page[GrantItem], error) {
			var none operation.Page[GrantItem]
			offset, err := in.Offset()
			if err != nil {
				return none, err
			}
			all, err := s.Grants(ctx, c.Principal.ID)
			if err != nil {
				return none, err
			}
			var items []GrantItem
			for _, g := range all[min(offset, len(all)):min(offset+in.Limit, len(all))] {
				items = append(items, GrantItem{
					ID: g.ID, ClientID: g.ClientID, ClaimedName: g.ClientName, Registered: g.Registered, Scopes: g.Scopes,
					CreatedAt: g.CreatedAt.UTC(), LastUsedAt: g.LastUsedAt.UTC(),
				})
			}
			return operation.NewPage(items, offset, len(all), 0), nil
		},
	}.Def()
}

// ListGrantsInput is the input of [ListGrants].
type ListGrantsInput struct{ operation.PageInput }

// A GrantItem is a grant as its person sees it.
type GrantItem struct {
	ID          string    `json:"id" doc:"Id of the grant"`
	ClientID    string    `json:"client_id" doc:"Id of the client"`
	ClaimedName string    `json:"claimed_name,omitempty" doc:"What the client calls itself (untrusted text)"`
	Registered  string    `json:"registered" doc:"How the client came: registered, metadata_document or built_in"`
	Scopes      []string  `json:"scopes" doc:"What was allowed"`
	CreatedAt   time.Time `json:"created_at" doc:"When you pressed Allow"`
	LastUsedAt  time.Time `json:"last_used_at" doc:"When a token was last issued under it"`
}

// EndGrant ends one grant of the caller's own.
func EndGrant(s Store) *operation.Def {
	return operation.Operation[EndGrantInput, EndGrantOutput]{
		Name:     "end_my_grant",
		Title:    "Shut a client out",
		Doc:      "Ends a permission that you gave to a client. Its tokens stop with its next request.",
		Route:    "DELETE /me/grants/{grant}",
		Command:  "me end-grant <grant>",
		Surfaces: operation.API,
		Effect:   operation.Removes,
		Ask:      operation.OwnAccount[EndGrantInput](),
		Handle: func(ctx context.Context, c *operation.Call, in EndGrantInput) (EndGrantOutput, error) {
			err := s.EndGrant(ctx, c.Principal, in.Grant)
			if errors.Is(err, knowledge.ErrNotFound) {
				return EndGrantOutput{}, &operation.Error{Kind: operation.NotFound, Sentence: "You have no such grant.", Next: "The list of your grants has their ids."}
			}
			return EndGrantOutput{Ended: in.Grant}, err
		},
	}.Def()
}

// EndGrantInput is the input of [EndGrant].
type EndGrantInput struct {
	Grant string `json:"grant" doc:"Id of the grant, from the list of your grants" minLength:"1" maxLength:"100"`
}

// EndGrantOutput is the output of [EndGrant].
type EndGrantOutput struct {
	Ended string `json:"ended" doc:"Id of the grant that has ended"`
}
