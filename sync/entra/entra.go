package entra

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/internal/entraid"
)

// A Registration is one of our applications in the tenant.
type Registration struct {
	ClientID string

	// Secret returns the client secret, opened anew for each use.
	Secret func(ctx context.Context) (string, error)
}

// A Client speaks to one tenant for one registration.
type Client struct {
	authority    string // such as https://login.microsoftonline.com
	tenant       string
	registration Registration
	http         *http.Client
	now          func() time.Time
	verifier     *oidc.IDTokenVerifier

	mu  sync.Mutex
	app map[appKey]*oauth2.Token // tokens of the application itself
}

// New returns a client for the tenant, a uuid, at an authority. Time and size
// limits are those of h, which comes from internal/fetch.
func New(authority, tenant string, r Registration, h *http.Client, now func() time.Time) *Client {
	authority = strings.TrimRight(authority, "/")
	base := authority + "/" + url.PathEscape(tenant)
	// The key set outlives every request, and so must the context that holds its client.
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), h), base+"/discovery/v2.0/keys")
	return &Client{
		authority: authority, tenant: tenant, registration: r, http: h, now: now,
		verifier: oidc.NewVerifier(base+"/v2.0", keys, &oidc.Config{
			ClientID:             r.ClientID,
			SupportedSigningAlgs: []string{oidc.RS256},
			Now:                  now,
		}),
		app: map[appKey]*oauth2.Token{},
	}
}

// An Error is an answer by which Entra refuses.
type Error struct {
	Status      int
	Code        string // OAuth's error code: the one thing to decide by
	Numbers     []int  // AADSTS numbers, for people
	Description string // may name the account: not for logs
}

func (e *Error) Error() string {
	s := fmt.Sprintf("entra answered %d %s", e.Status, e.Code)
	for _, n := range e.Numbers {
		s += fmt.Sprintf(" AADSTS%d", n)
	}
	return s
}

// OAuthCode returns the error code, or nothing where Entra itself had a fault.
func (e *Error) OAuthCode() string { return e.Code }

// ErrTenant is returned, wrapped, for an account of another tenant.
var ErrTenant = errors.New("account of another tenant")

// ErrSecret is returned, wrapped, where our own client secret cannot be had.
var ErrSecret = errors.New("client secret")

// AuthorizeURL returns where to send a browser. challenge is PKCE's, by S256.
func (c *Client) AuthorizeURL(redirectURI, state, nonce, challenge string, scopes []string) string {
	return c.endpoint("authorize") + "?" + url.Values{
		"client_id":             {c.registration.ClientID},
		"response_type":         {"code"},
		"response_mode":         {"query"},
		"redirect_uri":          {redirectURI},
		"scope":                 {strings.Join(scopes, " ")},
		"state":                 {state},
		"nonce":                 {nonce},
		"code_challenge":        {challenge},
		"code_challenge_method": {"S256"},
		// A browser knows several accounts, and the wrong one is not noticed until a query fails.
		"prompt": {"select_account"},
	}.Encode()
}

// Exchange redeems a code. The scopes may name one resource only; the ID token is
// the extra "id_token" of the answer.
func (c *Client) Exchange(ctx context.Context, redirectURI, code, verifier string, scopes []string) (*oauth2.Token, error) {
	return c.token(ctx, url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {code},
		"redirect_uri":  {redirectURI},
		"code_verifier": {verifier},
		"scope":         {strings.Join(scopes, " ")},
	})
}

// Refresh redeems a refresh token for one resource's access token. The answer's
// refresh token takes the place of the old one.
func (c *Client) Refresh(ctx context.Context, refreshToken string, scopes []string) (*oauth2.Token, error) {
	return c.token(ctx, url.Values{
		"grant_type":    {"refresh_token"},
		"refresh_token": {refreshToken},
		"scope":         {strings.Join(scopes, " ")},
	})
}

// An appKey has everything that a token of the application depends on, the
// secret by its digest.
type appKey struct {
	authority, tenant, client string
	secret                    [sha256.Size]byte
	scope                     string
}

// AppToken returns an access token of the application itself, for a scope that
// ends in /.default. It asks Entra again shortly before the last one ends, and
// when the secret has changed.
func (c *Client) AppToken(ctx context.Context, scope string) (string, error) {
	secret, err := c.registration.Secret(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrSecret, err)
	}
	key := appKey{c.authority, c.tenant, c.registration.ClientID, sha256.Sum256([]byte(secret)), scope}
	c.mu.Lock()
	t := c.app[key]
	c.mu.Unlock()
	if t != nil && c.now().Add(2*time.Minute).Before(t.Expiry) {
		return t.AccessToken, nil
	}
	t, err = c.newAppToken(ctx, scope)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	clear(c.app) // of another secret or scope: none is needed again
	c.app[key] = t
	c.mu.Unlock()
	return t.AccessToken, nil
}

// NewAppToken is [Client.AppToken] for whoever has to see what holds now: Entra is
// asked each time.
func (c *Client) NewAppToken(ctx context.Context, scope string) (string, error) {
	t, err := c.newAppToken(ctx, scope)
	if err != nil {
		return "", err
	}
	return t.AccessToken, nil
}

func (c *Client) newAppToken(ctx context.Context, scope string) (*oauth2.Token, error) {
	return c.token(ctx, url.Values{"grant_type": {"client_credentials"}, "scope": {scope}})
}

// Roles returns the application permissions that a token of the application itself
// carries. The token is one that Entra has just given: who signed it is not checked.
func Roles(token string) ([]string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("the token is no JWT")
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, errors.New("the token's claims are not readable")
	}
	var out struct {
		Roles []string `json:"roles"`
	}
	// The decoder's error would quote the token.
	if json.Unmarshal(claims, &out) != nil {
		return nil, errors.New("the token's claims are not readable")
	}
	return out.Roles, nil
}

func (c *Client) endpoint(name string) string {
	return c.authority + "/" + url.PathEscape(c.tenant) + "/oauth2/v2.0/" + name
}

func (c *Client) token(ctx context.Context, form url.Values) (*oauth2.Token, error) {
	secret, err := c.registration.Secret(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSecret, err)
	}
	form.Set("client_id", c.registration.ClientID)
	form.Set("client_secret", secret)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint("token"), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		var out struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
			Numbers     []int  `json:"error_codes"`
		}
		// Whatever stands before Entra may answer without JSON: then the status is all.
		_ = json.Unmarshal(b, &out)
		return nil, &Error{Status: resp.StatusCode, Code: out.Error, Numbers: out.Numbers, Description: out.Description}
	}
	var out struct {
		AccessToken  string `json:"access_token"`
		RefreshToken string `json:"refresh_token"`
		IDToken      string `json:"id_token"`
		TokenType    string `json:"token_type"`
		Scope        string `json:"scope"`
		ExpiresIn    int64  `json:"expires_in"`
	}
	// The decoder's error would quote a token.
	if json.Unmarshal(b, &out) != nil || out.AccessToken == "" || out.ExpiresIn <= 0 {
		return nil, errors.New("entra answered without a token")
	}
	t := &oauth2.Token{
		AccessToken:  out.AccessToken,
		RefreshToken: out.RefreshToken,
		TokenType:    out.TokenType,
		Expiry:       c.now().Add(time.Duration(out.ExpiresIn) * time.Second),
	}
	return t.WithExtra(map[string]any{"id_token": out.IDToken, "scope": out.Scope}), nil
}

// Verify checks an ID token: signature by the authority's keys, issuer, audience,
// times, tenant and nonce. The object id and the account's name are what it says,
// and email the one that it vouches for, if any.
func (c *Client) Verify(ctx context.Context, idToken, nonce string) (objectID, account, email string, err error) {
	t, err := c.verifier.Verify(ctx, idToken)
	if err != nil {
		return "", "", "", fmt.Errorf("id token: %w", err)
	}
	var claims struct {
		entraid.Claims
		Tenant   string `json:"tid"`
		ObjectID string `json:"oid"`
	}
	if err := t.Claims(&claims); err != nil {
		return "", "", "", fmt.Errorf("id token: %w", err)
	}
	switch {
	case nonce == "" || t.Nonce != nonce:
		return "", "", "", errors.New("id token: nonce is not the one sent")
	case !strings.EqualFold(claims.Tenant, c.tenant):
		return "", "", "", fmt.Errorf("id token: %w", ErrTenant)
	case claims.ObjectID == "":
		return "", "", "", errors.New("id token: has no object id")
	}
	email, _ = claims.Address() // an account without one has an empty one
	return strings.ToLower(claims.ObjectID), claims.PreferredUsername, email, nil
}
