package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
	"github.com/pbmb/pbmb/policies"
)

// A DeviceState says what a person answered.
type DeviceState int

const (
	DeviceOpen    DeviceState = 0
	DeviceAllowed DeviceState = 1
	DeviceDenied  DeviceState = 2
)

// How often a device may ask, and how long a request is kept once it is over.
const (
	PollInterval   = 5 * time.Second
	pollForgiven   = 500 * time.Millisecond // what the way may take from a steady rhythm
	deviceKeptOver = 24 * time.Hour
)

// A DeviceRequest is a device that waits for a person to let it in. Its grant is
// made, with this id, by whoever does.
type DeviceRequest struct {
	Grant
	State       DeviceState
	StartedAt   time.Time
	StartedFrom string // address of the device
	ExpiresAt   time.Time
	Dead        bool // its code was used, or its grant has ended
}

// StartDevice records that a device waits, under the digests of its two codes.
// It returns [postgres.ErrDuplicate] where the user code is somebody else's.
func (s *Store) StartDevice(ctx context.Context, digest, userDigest []byte, d *DeviceRequest) error {
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		if _, err := q.DeleteOldDeviceRequests(ctx, d.StartedAt.Add(-deviceKeptOver)); err != nil {
			return err
		}
		return q.InsertDeviceRequest(ctx, db.InsertDeviceRequestParams{
			Digest: digest, UserDigest: userDigest, GrantID: d.ID, ClientID: d.ClientID, Scopes: d.Scopes, Audience: d.Audience,
			At: d.StartedAt, StartedFrom: d.StartedFrom, ExpiresAt: d.ExpiresAt,
		})
	})
	if err != nil {
		return fmt.Errorf("recording that a device waits: %w", err)
	}
	return nil
}

// OpenDevice finds a request by its user code as long as it can be answered, and
// else returns [postgres.ErrNotFound].
func (s *Store) OpenDevice(ctx context.Context, userDigest []byte, at time.Time) (*DeviceRequest, error) {
	d, err := s.q.OpenDeviceRequest(ctx, db.OpenDeviceRequestParams{UserDigest: userDigest, At: at})
	if err != nil {
		return nil, fmt.Errorf("looking a device up: %w", postgres.Translate(err))
	}
	return &DeviceRequest{
		Grant: Grant{ClientID: d.ClientID}, StartedAt: d.StartedAt, StartedFrom: d.StartedFrom, ExpiresAt: d.ExpiresAt,
	}, nil
}

// AnswerDevice lets a device in, or turns it away, for good. What cannot be
// answered (any more) is [postgres.ErrNotFound]. The consent and the grant of an
// Allow are written in the same transaction, so that a device which learns of it
// holds a token that counts.
func (s *Store) AnswerDevice(ctx context.Context, by *policies.Principal, userDigest []byte, allow bool, at time.Time) error {
	state := DeviceDenied
	if allow {
		state = DeviceAllowed
	}
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		d, err := q.AnswerDeviceRequest(ctx, db.AnswerDeviceRequestParams{
			UserDigest: userDigest, State: int32(state), PersonID: &by.ID, At: at,
		})
		if err != nil || !allow {
			return err
		}
		g := Grant{ID: d.GrantID, ClientID: d.ClientID, PersonID: by.ID, Scopes: d.Scopes, Audience: d.Audience}
		if err := insertGrant(ctx, q, &g, at); err != nil {
			return err
		}
		return auditAllow(ctx, tx, by, &g)
	})
	if err != nil {
		return fmt.Errorf("answering a device: %w", err)
	}
	return nil
}

// Device returns [postgres.ErrNotFound] for an unknown device code.
func (s *Store) Device(ctx context.Context, digest []byte) (*DeviceRequest, error) {
	d, err := s.q.DeviceRequest(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("reading a device code: %w", postgres.Translate(err))
	}
	return &DeviceRequest{
		Grant: Grant{ID: d.GrantID, ClientID: d.ClientID, PersonID: d.PersonID, Scopes: d.Scopes, Audience: d.Audience},
		State: DeviceState(d.State), StartedAt: d.StartedAt, ExpiresAt: d.ExpiresAt, Dead: d.Dead,
	}, nil
}

// PollDevice notes that a device asks, and reports whether it waited long enough.
func (s *Store) PollDevice(ctx context.Context, digest []byte, at time.Time) (inTime bool, err error) {
	before := at.Add(pollForgiven - PollInterval)
	n, err := s.q.PollDeviceRequest(ctx, db.PollDeviceRequestParams{Digest: digest, At: &at, LastBefore: &before})
	if err != nil {
		return false, fmt.Errorf("noting that a device asks: %w", postgres.Translate(err))
	}
	return n == 1, nil
}

// SpendDevice marks a device code used, as [Store.SpendCode] does a code.
func (s *Store) SpendDevice(ctx context.Context, grantID string, digest []byte, at time.Time) error {
	return s.spend(ctx, grantID, func(q *db.Queries) (int64, error) {
		return q.SpendDeviceRequest(ctx, db.SpendDeviceRequestParams{Digest: digest, At: &at})
	})
}
