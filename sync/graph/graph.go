// Package graph is the client of Microsoft Graph, as far as we ask it about a
// person: who they are and which groups they are in.
package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Client calls Graph at one address.
type Client struct {
	base string
	http *http.Client
}

// New returns a client for the service at address, such as
// https://graph.microsoft.com/v1.0. Time and size limits are those of h, which comes
// from internal/fetch.
func New(address string, h *http.Client) *Client {
	return &Client{base: strings.TrimRight(address, "/"), http: h}
}

// An Error is a refusal by Graph.
type Error struct {
	Status     int
	Code       string // such as InvalidAuthenticationToken: the one thing to decide by
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	return strings.TrimRight(fmt.Sprintf("graph answered %d %s", e.Status, e.Code), " ")
}

// A Person is the account that a token stands for.
type Person struct {
	ID                string
	UserPrincipalName string
	DisplayName       string
	Mail              string
}

// Me returns whose token it is.
func (c *Client) Me(ctx context.Context, token string) (Person, error) {
	var p Person
	if err := c.exchange(ctx, token, http.MethodGet, c.base+"/me?$select=id,userPrincipalName,displayName,mail", nil, &p); err != nil {
		return Person{}, fmt.Errorf("reading the account: %w", err)
	}
	p.ID = strings.ToLower(p.ID)
	return p, nil
}

// GroupIDs returns the ids of all groups that the token's owner is in, directly
// or through other groups: lower-case, sorted, each once.
func (c *Client) GroupIDs(ctx context.Context, token string) ([]string, error) {
	ids, err := c.memberGroups(ctx, token)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Code == "Directory_ResultSizeLimitExceeded" {
		ids, err = c.memberOf(ctx, token) // one answer holds 11,000; beyond that only pages do
	}
	if err != nil {
		return nil, fmt.Errorf("reading groups: %w", err)
	}
	for i := range ids {
		ids[i] = strings.ToLower(ids[i])
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func (c *Client) memberGroups(ctx context.Context, token string) ([]string, error) {
	in := struct {
		SecurityEnabledOnly bool `json:"securityEnabledOnly"`
	}{}
	var out struct{ Value []string }
	err := c.exchange(ctx, token, http.MethodPost, c.base+"/me/getMemberGroups", in, &out)
	return out.Value, err
}

func (c *Client) memberOf(ctx context.Context, token string) ([]string, error) {
	next := c.base + "/me/transitiveMemberOf/microsoft.graph.group?$select=id&$top=999&$count=true"
	var ids []string
	for next != "" {
		// The token goes along, so the page has to be Graph's own.
		if !strings.HasPrefix(next, c.base+"/") {
			return nil, errors.New("graph names a next page elsewhere")
		}
		var out struct {
			Value []struct{ ID string }
			Next  string `json:"@odata.nextLink"`
		}
		if err := c.exchange(ctx, token, http.MethodGet, next, nil, &out); err != nil {
			return nil, err
		}
		for _, g := range out.Value {
			ids = append(ids, g.ID)
		}
		next = out.Next
	}
	return ids, nil
}

func (c *Client) exchange(ctx context.Context, token, method, address string, in, out any) error {
	var content bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&content).Encode(in); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, address, &content)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("ConsistencyLevel", "eventual") // without it, Graph refuses to narrow a list to groups
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		e := &Error{Status: resp.StatusCode}
		var body struct{ Error struct{ Code string } }
		// Whatever stands before Graph may answer without JSON: then the status is all.
		if json.NewDecoder(resp.Body).Decode(&body) == nil {
			e.Code = body.Error.Code
		}
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s >= 0 {
			e.RetryAfter = time.Duration(s) * time.Second
		}
		return e
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
