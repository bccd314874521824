package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/oauth2"
)

// The command line's own client at every deployment, and the addresses that
// every deployment has (OAUTH-01).
const (
	clientID          = "pbmb-cli"
	tokenPath         = "/api/auth/oauth2/token"
	authorizationPath = "/api/auth/oauth2/device_authorization"
	resourcePath      = "/api/v1"
	metadataPath      = "/.well-known/oauth-protected-resource" + resourcePath
)

// early is how long before its end a token is replaced, so that it does not end on
// its way.
const early = time.Minute

func (a *Account) oauth() *oauth2.Config {
	return &oauth2.Config{
		ClientID: clientID, Scopes: []string{"api", "offline_access"},
		Endpoint: oauth2.Endpoint{
			DeviceAuthURL: a.URL + authorizationPath, TokenURL: a.URL + tokenPath,
			// Never tried both ways: a refresh token that is sent twice counts as stolen.
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
}

// withClient makes the library use our client, and say who calls.
func (a *Account) withClient(ctx context.Context) context.Context {
	client := *a.client
	client.Transport = agent{a.agent}
	return context.WithValue(ctx, oauth2.HTTPClient, &client)
}

type agent struct{ name string }

func (t agent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", t.name)
	return http.DefaultTransport.RoundTrip(r)
}

// bearer returns a token that is good for a while yet.
func (a *Account) bearer(ctx context.Context) (string, error) {
	if a.token != "" {
		return a.token, nil
	}
	known, err := a.file.read()
	if err != nil {
		return "", err
	}
	own, signedIn := known.Deployments[a.URL]
	switch {
	case !signedIn:
		return "", fmt.Errorf("%w at %s: run pbmb login --url %[2]s", ErrNotSignedIn, a.URL)
	case a.isFresh(own):
		return own.AccessToken, nil
	}
	return a.refresh(ctx)
}

func (a *Account) isFresh(e entry) bool { return e.ExpiresAt.After(a.now().Add(early)) }

// refresh replaces the tokens, under the lock: a refresh token works once, and
// using it a second time ends everything. Of two commands that find an old token,
// the second waits for the first and takes what that one wrote.
func (a *Account) refresh(ctx context.Context) (token string, err error) {
	err = a.file.update(func(c *contents) error {
		own, signedIn := c.Deployments[a.URL]
		if !signedIn {
			return fmt.Errorf("%w at %s: run pbmb login --url %[2]s", ErrNotSignedIn, a.URL)
		}
		if a.isFresh(own) {
			token = own.AccessToken
			return nil
		}
		// Once it is sent, the answer has to be kept, whatever becomes of the command.
		sent, cancel := context.WithTimeout(a.withClient(context.WithoutCancel(ctx)), 30*time.Second)
		defer cancel()
		issued, err := a.oauth().TokenSource(sent, &oauth2.Token{RefreshToken: own.RefreshToken}).Token()
		if err != nil {
			return a.tokenError(err)
		}
		token = issued.AccessToken
		c.Deployments[a.URL] = entryOf(issued)
		return nil
	})
	return token, err
}

func entryOf(t *oauth2.Token) entry {
	return entry{AccessToken: t.AccessToken, RefreshToken: t.RefreshToken, ExpiresAt: t.Expiry.UTC()}
}

// tokenError says what an error of the authorization server means to a person.
func (a *Account) tokenError(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return a.unreachable(err)
	}
	switch refused.ErrorCode {
	case "invalid_grant", "invalid_client":
		return fmt.Errorf("%w at %s any more: run pbmb login --url %[2]s", ErrNotSignedIn, a.URL)
	case "access_denied":
		return errors.New("the request was denied in the browser")
	case "expired_token":
		return errExpired
	case "":
		return a.problem(refused.Response, refused.Body)
	}
	p := &Problem{
		Status: refused.Response.StatusCode, Detail: refused.ErrorDescription, Kind: refused.ErrorCode,
		RequestID: refused.Response.Header.Get("X-Request-Id"),
	}
	if p.Status == http.StatusServiceUnavailable {
		p.Kind = "unavailable"
	}
	return p
}

var errExpired = errors.New("nobody answered within ten minutes: run pbmb login again")
