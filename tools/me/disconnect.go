package me

import (
	"context"

	"github.com/pbmb/pbmb/tools/operation"
)

// Disconnect ends the caller's Power BI connection.
func Disconnect(s Store) *operation.Def {
	return operation.Operation[DisconnectInput, DisconnectOutput]{
		Name:     "disconnect_power_bi",
		Title:    "Disconnect Power BI",
		Doc:      "Ends your Power BI connection and deletes its tokens. Queries ask you to connect again.",
		Route:    "DELETE /me/connection",
		Command:  "me disconnect",
		Surfaces: operation.API,
		Effect:   operation.Removes,
		Ask:      operation.OwnAccount[DisconnectInput](),
		Handle: func(ctx context.Context, c *operation.Call, _ DisconnectInput) (DisconnectOutput, error) {
			if err := s.Disconnect(ctx, c.Principal); err != nil {
				return DisconnectOutput{}, err
			}
			return DisconnectOutput{State: "disconnected"}, nil
		},
	}.Def()
}

// DisconnectInput is the input of [Disconnect].
type DisconnectInput struct{}

// DisconnectOutput is the output of [Disconnect].
type DisconnectOutput struct {
	State string `json:"state" doc:"disconnected"`
}
