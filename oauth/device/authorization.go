package device

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/provider"
	"github.com/pbmb/pbmb/oauth/store"
)

// An authorization is the answer to a device. It has no verification_uri_complete:
// a person who only follows a link has not compared anything (OAUTH-57).
type authorization struct {
	DeviceCode      string `json:"device_code"`
	UserCode        string `json:"user_code"`
	VerificationURI string `json:"verification_uri"`
	ExpiresIn       int    `json:"expires_in"`
	Interval        int    `json:"interval"`
}

func (h *Handler) authorize(w http.ResponseWriter, r *http.Request) {
	answer, err := h.start(r)
	if err != nil {
		protocol.WriteError(w, err)
		return
	}
	protocol.WriteJSON(w, http.StatusOK, answer)
}

func (h *Handler) start(r *http.Request) (*authorization, error) {
	form, err := protocol.ReadForm(r)
	if err != nil {
		return nil, err
	}
	values, err := form.Single("client_id", "scope", "resource")
	if err != nil {
		return nil, err
	}
	if len(form.All("user_id")) > 0 {
		return nil, protocol.InvalidRequest("A code belongs to whoever types it: user_id is not taken.")
	}
	request, err := h.check(r.Context(), values)
	if err != nil {
		return nil, err
	}
	request.StartedFrom = h.Address(r.Context())
	answer, err := h.record(r.Context(), request)
	if err != nil {
		return nil, h.unavailable(r.Context(), err)
	}
	return answer, nil
}

// check finds out what the device asks for, of what its client may (OAUTH-55).
func (h *Handler) check(ctx context.Context, values url.Values) (*store.DeviceRequest, error) {
	client, err := h.Store.Client(ctx, values.Get("client_id"))
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		return nil, protocol.ErrInvalidClient
	case err != nil:
		return nil, h.unavailable(ctx, err)
	case !slices.Contains(client.GrantTypes, provider.DeviceGrant):
		return nil, protocol.ErrUnauthorizedClient
	}
	path, ok := h.Site.ResourcePath(values.Get("resource"))
	if !ok || path != client.Resource {
		return nil, protocol.ErrInvalidTarget
	}
	scopes := slices.Compact(slices.Sorted(slices.Values(strings.Fields(values.Get("scope")))))
	if len(scopes) == 0 {
		scopes = client.Scopes
	}
	if !slices.Contains(scopes, protocol.ScopeOf(path)) ||
		slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(client.Scopes, s) }) {
		return nil, protocol.ErrInvalidScope
	}
	now := h.Now()
	return &store.DeviceRequest{
		Grant:     store.Grant{ID: rand.Text(), ClientID: client.ID, Scopes: scopes, Audience: h.Site.URL(path)},
		StartedAt: now, ExpiresAt: now.Add(Life),
	}, nil
}

// record keeps the request. That a user code is taken already happens once in
// billions of times; the next one is not.
func (h *Handler) record(ctx context.Context, request *store.DeviceRequest) (*authorization, error) {
	deviceCode, digest := provider.NewDeviceCode()
	for range 3 {
		userCode, err := h.codes.generate()
		if err != nil {
			return nil, err
		}
		err = h.Store.StartDevice(ctx, digest, h.codes.digest(userCode), request)
		if errors.Is(err, postgres.ErrDuplicate) {
			continue
		} else if err != nil {
			return nil, err
		}
		return &authorization{
			DeviceCode: deviceCode, UserCode: userCode, VerificationURI: h.Site.URL(ScreenPath),
			ExpiresIn: int(Life.Seconds()), Interval: int(store.PollInterval.Seconds()),
		}, nil
	}
	return nil, fmt.Errorf("recording that a device waits: %w", postgres.ErrDuplicate)
}

func (h *Handler) unavailable(ctx context.Context, err error) error {
	unexpected.Log(ctx, h.Log, "a device asks to be let in", err)
	return protocol.ErrUnavailable
}
