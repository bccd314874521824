package store

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
)

// A ClientKind says how a client came to be known.
type ClientKind string

const (
	Registered       ClientKind = "registered"        // by dynamic registration
	MetadataDocument ClientKind = "metadata_document" // its id is the address of its document
	BuiltIn          ClientKind = "built_in"          // part of this product
)

// CLI is the built-in client of the command line.
const CLI = "pbmb-cli"

// A client that nobody let in is kept for a day, and for as long as somebody
// may be looking at its consent screen.
const (
	unusedClientLife = 24 * time.Hour
	ConsentTime      = 20 * time.Minute
)

// A Client is a program that may ask people to let it in. All clients are
// public: none has a secret.
type Client struct {
	ID           string
	Kind         ClientKind
	Name         string // as it calls itself; nothing vouches for it
	RedirectURIs []string
	GrantTypes   []string
	Scopes       []string
	Resource     string // the path of the one resource that it may ask for
	CreatedAt    time.Time
	ChangedAt    time.Time // when a metadata document was last read
}

// Client returns [postgres.ErrNotFound] for an unknown id.
func (s *Store) Client(ctx context.Context, id string) (*Client, error) {
	if strings.ContainsRune(id, 0) || !utf8.ValidString(id) {
		return nil, fmt.Errorf("reading a client: %w", postgres.ErrNotFound) // PostgreSQL keeps no such text
	}
	c, err := s.q.Client(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading a client: %w", postgres.Translate(err))
	}
	return &Client{
		ID: c.ID, Kind: ClientKind(c.Kind), Name: c.Name, RedirectURIs: c.RedirectUris,
		GrantTypes: c.GrantTypes, Scopes: c.Scopes, Resource: c.Resource, CreatedAt: c.CreatedAt, ChangedAt: c.ChangedAt,
	}, nil
}

// CreateClient adds a client and removes those that nobody ever used, so that
// the table cannot grow without bound (OAUTH-45, OAUTH-46).
func (s *Store) CreateClient(ctx context.Context, c *Client) error {
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		if err := prune(ctx, q, c.CreatedAt); err != nil {
			return err
		}
		return q.InsertClient(ctx, db.InsertClientParams{
			ID: c.ID, Kind: string(c.Kind), Name: c.Name, RedirectUris: c.RedirectURIs,
			GrantTypes: c.GrantTypes, Scopes: c.Scopes, Resource: c.Resource, At: c.CreatedAt,
		})
	})
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	return nil
}

// SaveDocument keeps what a client's metadata document says as of c.ChangedAt,
// and removes clients as [Store.CreateClient] does. It returns the client as it
// is kept: one that was known before is known since then.
func (s *Store) SaveDocument(ctx context.Context, c *Client, document []byte) (*Client, error) {
	saved := *c
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) (err error) {
		q := s.q.WithTx(tx)
		saved.CreatedAt, err = q.SaveDocument(ctx, db.SaveDocumentParams{
			ID: c.ID, Name: c.Name, RedirectUris: c.RedirectURIs,
			GrantTypes: c.GrantTypes, Scopes: c.Scopes, Resource: c.Resource, Document: document, At: c.ChangedAt,
		})
		if err != nil {
			return err
		}
		return prune(ctx, q, c.ChangedAt)
	})
	if err != nil {
		return nil, fmt.Errorf("keeping a metadata document: %w", err)
	}
	return &saved, nil
}

func prune(ctx context.Context, q *db.Queries, at time.Time) error {
	requested := at.Add(-ConsentTime)
	_, err := q.PruneClients(ctx, db.PruneClientsParams{UnchangedSince: at.Add(-unusedClientLife), RequestedSince: &requested})
	return err
}

// TouchClient notes that somebody was asked to let a client in.
func (s *Store) TouchClient(ctx context.Context, id string, at time.Time) error {
	if err := s.q.TouchClient(ctx, db.TouchClientParams{ID: id, At: &at}); err != nil {
		return fmt.Errorf("noting an authorization request: %w", postgres.Translate(err))
	}
	return nil
}
