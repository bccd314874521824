package admin

import (
	"context"
	"errors"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A ConnectionItem is somebody's Power BI connection as admins see it.
type ConnectionItem struct {
	PersonID     string    `json:"person_id" doc:"Id of the person" format:"uuid"`
	Person       string    `json:"person" doc:"Their email"`
	State        string    `json:"state" doc:"connected, needs_reconnect or disconnected"`
	Account      string    `json:"account,omitempty" doc:"Name of the Power BI account"`
	ConnectedAt  time.Time `json:"connected_at" doc:"Since when"`
	GroupsReadAt time.Time `json:"groups_read_at,omitzero" doc:"When the account's groups were last read"`
}

// ListConnections lists people's Power BI connections.
func ListConnections(s Connections) *operation.Def {
	return operation.Operation[ListConnectionsInput, operation.Page[ConnectionItem]]{
		Name:     "list_connections",
		Title:    "List people's Power BI connections",
		Doc:      "Lists the Power BI accounts that people connected, by email, with how each connection stands. Tokens are never shown.",
		Route:    "GET /admin/connections",
		Command:  "admin connections list",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListConnectionsInput](policies.RevokeConnection),
		Handle: func(ctx context.Context, _ *operation.Call, in ListConnectionsInput) (operation.Page[ConnectionItem], error) {
			var none operation.Page[ConnectionItem]
			offset, err := in.Offset()
			if err != nil {
				return none, err
			}
			found, total, err := s.ListConnections(ctx, knowledge.Range{Offset: offset, Limit: in.Limit})
			if err != nil {
				return none, err
			}
			items := make([]ConnectionItem, len(found))
			for i, f := range found {
				items[i] = ConnectionItem{
					PersonID: f.PersonID, Person: f.Person, State: f.State, Account: f.Account,
					ConnectedAt: f.ConnectedAt.UTC(), GroupsReadAt: f.GroupsReadAt.UTC(),
				}
			}
			return operation.NewPage(items, offset, total, 0), nil
		},
	}.Def()
}

// ListConnectionsInput is the input of [ListConnections].
type ListConnectionsInput struct{ operation.PageInput }

// RevokeConnection ends anybody's Power BI connection.
func RevokeConnection(s Connections) *operation.Def {
	return operation.Operation[RevokeConnectionInput, RevokeConnectionOutput]{
		Name:     "revoke_connection",
		Title:    "End somebody's Power BI connection",
		Doc:      "Ends a person's Power BI connection, by their id from the list, and deletes its tokens. Their queries ask them to connect again.",
		Route:    "DELETE /admin/connections/{person}",
		Command:  "admin connections revoke <person>",
		Surfaces: operation.API,
		Effect:   operation.Removes,
		Ask:      operation.OnAdmin[RevokeConnectionInput](policies.RevokeConnection),
		Handle: func(ctx context.Context, c *operation.Call, in RevokeConnectionInput) (RevokeConnectionOutput, error) {
			err := s.RevokeConnection(ctx, c.Principal, in.Person)
			if errors.Is(err, knowledge.ErrNotFound) {
				return RevokeConnectionOutput{}, &operation.Error{Kind: operation.NotFound, Sentence: "This person has no connection.", Next: "The list of connections has the ids of those who have one."}
			}
			return RevokeConnectionOutput{State: "disconnected"}, err
		},
	}.Def()
}

// RevokeConnectionInput is the input of [RevokeConnection].
type RevokeConnectionInput struct {
	Person string `json:"person" doc:"Id of the person, from the list of connections" format:"uuid"`
}

// RevokeConnectionOutput is the output of [RevokeConnection].
type RevokeConnectionOutput struct {
	State string `json:"state" doc:"disconnected"`
}
