// Package me has the operations on the caller's own account.
package me

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Connection is the state of a person's Power BI connection.
type Connection struct {
	State       string // connected, needs_reconnect, disconnected or none
	Account     string
	ConnectedAt time.Time
}

// A Grant is one Allow that the caller gave to a client.
type Grant struct {
	ID         string
	ClientID   string
	ClientName string // as the client claims
	Registered string // how the client came: registered, metadata_document or built_in
	Scopes     []string
	CreatedAt  time.Time
	LastUsedAt time.Time
}

// A Store reads and ends what belongs to the caller.
type Store interface {
	// Connection returns the state of a person's Power BI connection.
	Connection(ctx context.Context, personID string) (Connection, error)

	// Disconnect ends the caller's Power BI connection and deletes its tokens.
	Disconnect(ctx context.Context, p *policies.Principal) error

	// Grants lists what the caller has let clients do.
	Grants(ctx context.Context, personID string) ([]Grant, error)

	// EndGrant ends one grant of the caller's own, or returns [knowledge.ErrNotFound].
	EndGrant(ctx context.Context, p *policies.Principal, id string) error

	// NoteConnector records, once a day for each client, that it got through.
	NoteConnector(ctx context.Context, p *policies.Principal) error
}

// Operations returns every operation on the caller's own account.
func Operations(s Store) []*operation.Def {
	return []*operation.Def{Whoami(s), Disconnect(s), ListGrants(s), EndGrant(s)}
}

// Whoami says who the caller is and what they may do.
func Whoami(s Store) *operation.Def {
	return operation.Operation[WhoamiInput, WhoamiOutput]{
		Name:  "whoami",
		Title: "Who am I",
		Doc: "Says who you are signed in as, your roles, and whether your Power BI account is connected, " +
			"under whose rights your queries run.",
		Route:    "GET /me",
		Command:  "whoami",
		Surfaces: operation.Connector | operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OwnAccount[WhoamiInput](),
		Handle: func(ctx context.Context, c *operation.Call, _ WhoamiInput) (WhoamiOutput, error) {
			p := c.Principal
			if p.Via == policies.ViaConnector {
				if err := s.NoteConnector(ctx, p); err != nil {
					return WhoamiOutput{}, err
				}
			}
			connection := Connection{State: "none"}
			if p.Kind == policies.Person { // SVC-19: an id alone is nobody's
				var err error
				if connection, err = s.Connection(ctx, p.ID); err != nil {
					return WhoamiOutput{}, err
				}
			}
			out := WhoamiOutput{
				Kind: string(p.Kind), ID: p.ID, Email: p.Email, Name: p.Name, Roles: p.Roles, Via: string(p.Via),
				ClientID: p.ClientID, ClientAddress: p.Address, PowerBI: PowerBI{State: connection.State, Account: connection.Account},
			}
			if p.Via == policies.ViaCLI || p.Via == policies.ViaConnector {
				out.Grant = p.Credential
			}
			if !connection.ConnectedAt.IsZero() {
				out.PowerBI.ConnectedAt = connection.ConnectedAt.UTC().Format(time.RFC3339)
			}
			return out, nil
		},
	}.Def()
}

// WhoamiInput is the input of [Whoami].
type WhoamiInput struct{}

// WhoamiOutput is the output of [Whoami].
type WhoamiOutput struct {
	Kind          string   `json:"kind" doc:"person or service_account"`
	ID            string   `json:"id" doc:"Id here"`
	Email         string   `json:"email,omitempty" doc:"Verified email"`
	Name          string   `json:"name,omitempty" doc:"Name"`
	Roles         []string `json:"roles" doc:"Roles, as of now"`
	Via           string   `json:"via" doc:"How this call came: browser, cli, connector or service_account"`
	ClientID      string   `json:"client_id,omitempty" doc:"The client that made this call"`
	Grant         string   `json:"grant_id,omitempty" doc:"The grant that this call was made under; ending it ends the client's access"`
	ClientAddress string   `json:"client_address,omitempty" doc:"The address that this call came from"`
	PowerBI       PowerBI  `json:"power_bi" doc:"The Power BI account that queries run as"`
}

// PowerBI is the state of the caller's connection.
type PowerBI struct {
	State       string `json:"state" doc:"connected, needs_reconnect, disconnected or none"`
	Account     string `json:"account,omitempty" doc:"Name of the account"`
	ConnectedAt string `json:"connected_at,omitempty" doc:"Since when"`
}
