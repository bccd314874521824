package connection

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/connection/db"
)

// The scopes that ask for whatever was consented to, of one resource each. The
// answer lists it; the tokens for which they are asked are not kept.
var (
	allOfPowerBI = []string{"https://analysis.windows.net/powerbi/api/.default", "offline_access"}
	allOfGraph   = []string{"https://graph.microsoft.com/.default", "offline_access"}
)

// tried is over how many people's connections it is tried to learn something.
const tried = 3

// Consented lists the delegated permissions of the app registration at Power BI and
// at Graph, by the names that they have there. Entra tells them to nobody but a
// person who connected: it returns [ErrNotConnected] where there is none whose
// connection Microsoft takes.
func (c *Connections) Consented(ctx context.Context) (powerBI, graph []string, err error) {
	ids, err := db.New(c.pool).LatestConnections(ctx, tried)
	if err != nil {
		return nil, nil, fmt.Errorf("looking for a connection: %w", postgres.Translate(err))
	}
	for _, id := range ids {
		if powerBI, err = c.consented(ctx, id, allOfPowerBI); err == nil {
			graph, err = c.consented(ctx, id, allOfGraph)
		}
		if !errors.Is(err, ErrNeedsReconnect) && !errors.Is(err, ErrNotConnected) {
			return powerBI, graph, err
		}
	}
	return nil, nil, ErrNotConnected
}

// consented spends the person's refresh token for the list alone, and keeps the one
// that takes its place.
func (c *Connections) consented(ctx context.Context, personID string, scopes []string) (names []string, err error) {
	err = c.spend(ctx, personID, func(ctx context.Context, q *db.Queries, row db.LockConnectionRow) error {
		got, err := c.renew(ctx, q, personID, row, scopes)
		if err != nil {
			return err
		}
		list, _ := got.Extra("scope").(string) // Entra always lists it; without it, nothing is allowed
		for _, s := range strings.Fields(list) {
			names = append(names, s[strings.LastIndex(s, "/")+1:])
		}
		refresh, err := c.seal(personID, got.RefreshToken)
		if err != nil {
			return err
		}
		return q.SaveRefreshToken(ctx, db.SaveRefreshTokenParams{PersonID: personID, RefreshToken: refresh})
	})
	return names, err
}
