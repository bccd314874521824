package connection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/connection/db"
	"github.com/pbmb/pbmb/policies"
)

var (
	// ErrNotConnected is returned, wrapped, for a person without a connection, or
	// who ended it.
	ErrNotConnected = errors.New("no Power BI account is connected")

	// ErrNeedsReconnect is returned, wrapped, where Microsoft no longer accepts the
	// connection: its tokens are gone, and only the person can make it anew.
	ErrNeedsReconnect = errors.New("the Power BI connection has to be made again")
)

// The scopes that are ever asked for. One answer of Entra's gives the access
// token of one resource only, so they are asked in two parts.
var (
	powerBIScopes = []string{"https://analysis.windows.net/powerbi/api/Dataset.Read.All", "offline_access", "openid", "profile", "email"}
	graphScopes   = []string{"https://graph.microsoft.com/User.Read", "offline_access", "openid", "profile", "email"}
	allScopes     = append([]string{graphScopes[0]}, powerBIScopes...)
)

// An Entra is Microsoft's identity service, for our registration in one tenant.
// An error by which it refuses has a method OAuthCode that gives OAuth's code.
type Entra interface {
	AuthorizeURL(redirectURI, state, nonce, challenge string, scopes []string) string
	Exchange(ctx context.Context, redirectURI, code, verifier string, scopes []string) (*oauth2.Token, error)
	Refresh(ctx context.Context, refreshToken string, scopes []string) (*oauth2.Token, error)

	// Verify checks an ID token in full, tenant and nonce included, and returns
	// whose it is; email is the one that it vouches for, or empty.
	Verify(ctx context.Context, idToken, nonce string) (objectID, account, email string, err error)
}

// A Graph lists the groups of a token's owner, those that contain others included.
type Graph interface {
	GroupIDs(ctx context.Context, accessToken string) ([]string, error)
}

// A Vault seals for the api alone.
type Vault interface {
	Seal(plaintext []byte) ([]byte, error)
	Open(sealed []byte) ([]byte, error)

	// Reseal seals for the identity in memory what was sealed for one before it.
	Reseal(sealed []byte) (fresh []byte, changed bool, err error)
}

// Connections keeps the connections of all people.
type Connections struct {
	pool    *pgxpool.Pool
	vault   Vault
	entra   Entra
	graph   Graph
	ownOnly func(context.Context) (bool, error)
	now     func() time.Time
	log     *slog.Logger
}

// New returns Connections over a pool of the role api_rw. ownOnly says whether
// people may connect only the account that is known to be their own (the setting
// powerbi.connection_requires_matching_email); it is asked for each connect.
func New(pool *pgxpool.Pool, v Vault, e Entra, g Graph, ownOnly func(context.Context) (bool, error), now func() time.Time, log *slog.Logger) *Connections {
	return &Connections{pool: pool, vault: v, entra: e, graph: g, ownOnly: ownOnly, now: now, log: log}
}

// A State says how a connection stands.
type State string

const (
	None           State = "none"
	Connected      State = "connected"
	NeedsReconnect State = "needs_reconnect"
	Disconnected   State = "disconnected"
)

// A Status is what people see of a connection.
type Status struct {
	State        State
	ObjectID     string // of the account; empty where the state is None
	Account      string // its name
	ConnectedAt  time.Time
	GroupsReadAt time.Time // zero where they are not read yet
}

// Status returns how a person's connection stands.
func (c *Connections) Status(ctx context.Context, personID string) (Status, error) {
	row, err := db.New(c.pool).Connection(ctx, personID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Status{State: None}, nil
	}
	if err != nil {
		return Status{}, fmt.Errorf("reading a connection: %w", postgres.Translate(err))
	}
	s := Status{State: State(row.State), ObjectID: row.ObjectID, Account: row.Account, ConnectedAt: row.ConnectedAt}
	if row.GroupsReadAt != nil {
		s.GroupsReadAt = *row.GroupsReadAt
	}
	return s, nil
}

// A Held is the status of somebody's connection.
type Held struct {
	Status
	PersonID string
	Email    string
}

// List lists the connections of all people, by email, and says how many there are.
func (c *Connections) List(ctx context.Context, offset, limit int) (held []Held, total int, err error) {
	q := db.New(c.pool)
	rows, err := q.Connections(ctx, db.ConnectionsParams{Skip: int32(offset), Most: int32(limit)})
	if err != nil {
		return nil, 0, fmt.Errorf("listing connections: %w", postgres.Translate(err))
	}
	count, err := q.CountAllConnections(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("counting connections: %w", postgres.Translate(err))
	}
	held = make([]Held, len(rows))
	for i, r := range rows {
		held[i] = Held{PersonID: r.PersonID, Email: r.Email, Status: Status{
			State: State(r.State), ObjectID: r.ObjectID, Account: r.Account, ConnectedAt: r.ConnectedAt,
		}}
		if r.GroupsReadAt != nil {
			held[i].GroupsReadAt = *r.GroupsReadAt
		}
	}
	return held, int(count), nil
}

// A Token is a person's access token for Power BI and whose rights it carries.
type Token struct {
	Access   string
	ObjectID string
	Account  string
}

// margin is how long a token has to live on for a query to start with it.
const margin = 2 * time.Minute

// Token returns a person's own access token for Power BI, refreshed where it has
// ended. It returns [ErrNotConnected] or [ErrNeedsReconnect] where there is none;
// any other error may pass.
func (c *Connections) Token(ctx context.Context, personID string) (Token, error) {
	row, err := db.New(c.pool).Connection(ctx, personID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Token{}, fmt.Errorf("reading a connection: %w", postgres.Translate(err))
	}
	if err := stands(row.State, err); err != nil {
		return Token{}, err
	}
	if c.fresh(row.AccessExpiresAt) {
		access, err := c.open(personID, row.AccessToken)
		return Token{access, row.ObjectID, row.Account}, err
	}
	return c.refreshed(ctx, personID)
}

func (c *Connections) fresh(expires *time.Time) bool {
	return expires != nil && c.now().Add(margin).Before(*expires)
}

// stands gives the error of a connection that carries no tokens.
func stands(state string, read error) error {
	switch {
	case errors.Is(read, pgx.ErrNoRows), State(state) == Disconnected:
		return ErrNotConnected
	case State(state) == NeedsReconnect:
		return ErrNeedsReconnect
	}
	return nil
}

// refreshed spends the refresh token under the person's lock, unless somebody
// who held it first has just done so.
func (c *Connections) refreshed(ctx context.Context, personID string) (Token, error) {
	var token Token
	err := c.spend(ctx, personID, func(ctx context.Context, q *db.Queries, row db.LockConnectionRow) error {
		token = Token{ObjectID: row.ObjectID, Account: row.Account}
		if c.fresh(row.AccessExpiresAt) {
			var err error
			token.Access, err = c.open(personID, row.AccessToken)
			return err
		}
		got, err := c.renew(ctx, q, personID, row, powerBIScopes)
		if err != nil {
			return err
		}
		token.Access = got.AccessToken
		access, refresh, err := c.sealBoth(personID, got)
		if err != nil {
			return err
		}
		return q.SaveTokens(ctx, db.SaveTokensParams{
			PersonID: personID, AccessToken: access, AccessExpiresAt: &got.Expiry, RefreshToken: refresh,
		})
	})
	if err != nil {
		return Token{}, err
	}
	return token, nil
}

// ReadGroups reads the groups of the connected account through Graph and stores
// them with the connection, unless it has ended or changed meanwhile.
func (c *Connections) ReadGroups(ctx context.Context, personID string) error {
	var access string
	var connectedAt time.Time
	err := c.spend(ctx, personID, func(ctx context.Context, q *db.Queries, row db.LockConnectionRow) error {
		connectedAt = row.ConnectedAt
		got, err := c.renew(ctx, q, personID, row, graphScopes)
		if err != nil {
			return err
		}
		access = got.AccessToken
		refresh, err := c.seal(personID, got.RefreshToken)
		if err != nil {
			return err
		}
		return q.SaveRefreshToken(ctx, db.SaveRefreshTokenParams{PersonID: personID, RefreshToken: refresh})
	})
	if err != nil {
		return err
	}
	groups, err := c.graph.GroupIDs(ctx, access)
	if err != nil {
		return err
	}
	if _, err := db.New(c.pool).SaveGroups(ctx, db.SaveGroupsParams{PersonID: personID, GroupIds: groups, ConnectedAt: connectedAt}); err != nil {
		return fmt.Errorf("storing groups: %w", postgres.Translate(err))
	}
	return nil
}

// spendTime bounds how long a person's row is locked.
const spendTime = 45 * time.Second

// spend runs f in a transaction that holds the person's row. It goes on where the
// caller gives up: a refresh token that was spent and whose successor is not
// saved would end the connection.
//
// An [ErrNeedsReconnect] of f is committed, since f has recorded it.
func (c *Connections) spend(ctx context.Context, personID string, f func(context.Context, *db.Queries, db.LockConnectionRow) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spendTime)
	defer cancel()
	var lost error
	err := postgres.Tx(ctx, c.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		row, err := q.LockConnection(ctx, personID)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := stands(row.State, err); err != nil {
			return err
		}
		if err = f(ctx, q, row); errors.Is(err, ErrNeedsReconnect) {
			lost, err = err, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return lost
}

// renew spends the refresh token. Where Microsoft refuses it for good, the
// connection's tokens go; where Microsoft has a fault, they stay.
func (c *Connections) renew(ctx context.Context, q *db.Queries, personID string, row db.LockConnectionRow, scopes []string) (*oauth2.Token, error) {
	old, err := c.open(personID, row.RefreshToken)
	if err != nil {
		return nil, err
	}
	got, err := c.entra.Refresh(ctx, old, scopes)
	if oauthCode(err) == "invalid_grant" {
		if _, err := q.EndConnection(ctx, db.EndConnectionParams{PersonID: personID, State: string(NeedsReconnect)}); err != nil {
			return nil, err
		}
		unexpected.Refused(ctx, c.log, "a connection needs to be made again", err, "person", personID)
		return nil, ErrNeedsReconnect
	}
	if err != nil {
		return nil, fmt.Errorf("refreshing a connection: %w", err)
	}
	if got.RefreshToken == "" {
		got.RefreshToken = old // OAuth lets the old one go on where none comes
	}
	return got, nil
}

// oauthCode gives the code by which the authority refused, or nothing.
func oauthCode(err error) string {
	var refusal interface {
		error
		OAuthCode() string
	}
	if errors.As(err, &refusal) {
		return refusal.OAuthCode()
	}
	return ""
}

// store makes a person's row stand with the tokens, and audits it. It replaces
// whatever was connected before. It returns [errNotOwn] for an account that is not
// known to be theirs, where that is asked for.
func (c *Connections) store(ctx context.Context, p *policies.Principal, objectID, account, email string, t *oauth2.Token) error {
	access, refresh, err := c.sealBoth(p.ID, t)
	if err != nil {
		return err
	}
	ownOnly, err := c.ownOnly(ctx)
	if err != nil {
		return fmt.Errorf("reading whose account may be connected: %w", err)
	}
	err = postgres.Tx(ctx, c.pool, func(tx pgx.Tx) error {
		if ownOnly {
			if err := claim(ctx, db.New(tx), p.ID, objectID, email); err != nil {
				return err
			}
		}
		_, err := db.New(tx).Connect(ctx, db.ConnectParams{
			PersonID: p.ID, ObjectID: objectID, Account: account, AccessToken: access, AccessExpiresAt: &t.Expiry, RefreshToken: refresh,
		})
		if err != nil {
			return err
		}
		return audit.Write(ctx, tx, p, audit.Event{
			Action: "connect_power_bi", Outcome: audit.Allow, Element: personElement(p.ID), Detail: map[string]any{"object_id": objectID},
		})
	})
	if errors.Is(err, postgres.ErrDuplicate) {
		return errNotOwn // somebody else's since a moment ago, or for long
	}
	if err != nil {
		return fmt.Errorf("storing a connection: %w", err)
	}
	return nil
}

// errNotOwn is returned for an account that may not be connected because it is not
// known to be the person's own.
var errNotOwn = errors.New("the account is not known to be the person's own")

// claim makes an account the one that a person is known by, unless it is already:
// who has one on record keeps it, and who has none may take the one that has their
// verified email (CONN-14 to CONN-17).
func claim(ctx context.Context, q *db.Queries, personID, objectID, email string) error {
	known, err := q.IdentityOf(ctx, personID)
	switch {
	case err == nil && known == objectID:
		return nil
	case err == nil:
		return errNotOwn
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	if email == "" {
		return errNotOwn // the account vouches for none
	}
	verified, err := q.HasVerifiedEmail(ctx, db.HasVerifiedEmailParams{PersonID: personID, Email: email})
	if err != nil {
		return err
	}
	if !verified {
		return errNotOwn
	}
	return q.ClaimIdentity(ctx, db.ClaimIdentityParams{PersonID: personID, ObjectID: objectID})
}

// Disconnect ends the caller's own connection; one that has ended is no error.
func (c *Connections) Disconnect(ctx context.Context, p *policies.Principal) error {
	if err := c.end(ctx, p, p.ID, "disconnect_power_bi"); !errors.Is(err, ErrNotConnected) {
		return err
	}
	return nil
}

// Revoke ends somebody's connection for an admin, or returns [ErrNotConnected]. A
// refresh that is under way is waited for, so that it cannot store a token
// afterwards.
func (c *Connections) Revoke(ctx context.Context, admin *policies.Principal, personID string) error {
	return c.end(ctx, admin, personID, "revoke_connection")
}

func (c *Connections) end(ctx context.Context, by *policies.Principal, personID, action string) error {
	err := postgres.Tx(ctx, c.pool, func(tx pgx.Tx) error {
		row, err := db.New(tx).EndConnection(ctx, db.EndConnectionParams{PersonID: personID, State: string(Disconnected)})
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotConnected
		}
		if err != nil {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Event{
			Action: action, Outcome: audit.Allow, Element: personElement(personID), Detail: map[string]any{"object_id": row.ObjectID},
		})
	})
	if err != nil {
		return fmt.Errorf("ending a connection: %w", err)
	}
	return nil
}

func personElement(id string) string { return "person " + id }

func (c *Connections) sealBoth(personID string, t *oauth2.Token) (access, refresh []byte, err error) {
	if access, err = c.seal(personID, t.AccessToken); err != nil {
		return nil, nil, err
	}
	refresh, err = c.seal(personID, t.RefreshToken)
	return access, refresh, err
}

// seal binds a token to its person, so that a row copied to somebody else's place
// does not open there.
func (c *Connections) seal(personID, token string) ([]byte, error) {
	sealed, err := c.vault.Seal([]byte(personID + "\n" + token))
	if err != nil {
		return nil, fmt.Errorf("sealing a token: %w", err)
	}
	return sealed, nil
}

func (c *Connections) open(personID string, sealed []byte) (string, error) {
	b, err := c.vault.Open(sealed)
	if err != nil {
		return "", fmt.Errorf("opening a token: %w", err)
	}
	of, token, ok := strings.Cut(string(b), "\n")
	if !ok || of != personID {
		return "", errors.New("opening a token: it is another person's")
	}
	return token, nil
}
