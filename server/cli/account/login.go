package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"
)

// A Prompt is what a person is told who signs in.
type Prompt struct {
	Address string // of the screen on which the code is typed
	Code    string
	Until   time.Time
}

// Login signs in by the device flow: show tells the person what to do, and then it
// waits for them.
func (a *Account) Login(ctx context.Context, show func(Prompt)) error {
	if err := a.check(ctx); err != nil {
		return err
	}
	ctx = a.withClient(ctx)
	config, resource := a.oauth(), oauth2.SetAuthURLParam("resource", a.URL+resourcePath)
	started, err := config.DeviceAuth(ctx, resource)
	if err != nil {
		return a.tokenError(err)
	}
	// The screen is the deployment's own, whatever the answer says.
	show(Prompt{Address: a.URL + "/device", Code: started.UserCode, Until: started.Expiry})
	issued, err := config.DeviceAccessToken(ctx, started)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errExpired
	case ctx.Err() != nil:
		return errors.New("nobody has signed in")
	case err != nil:
		return a.tokenError(err)
	}
	return a.file.update(func(c *contents) error {
		c.Last, c.Deployments[a.URL] = a.URL, entryOf(issued)
		return nil
	})
}

// check asks the deployment what it calls itself: tokens are for that address
// alone, and one that is reached by another name refuses them.
func (a *Account) check(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+metadataPath, nil)
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	raw, err := a.send(r)
	if err != nil {
		return err
	}
	var metadata struct {
		Resource string `json:"resource"`
	}
	if err := json.Unmarshal(raw, &metadata); err != nil || metadata.Resource == "" {
		return fmt.Errorf("%s is no deployment of pbmb, or an older one", a.URL)
	}
	if metadata.Resource == a.URL+resourcePath {
		return nil
	}
	own, err := url.Parse(metadata.Resource)
	if err != nil || own.Path != resourcePath {
		return fmt.Errorf("%s is no deployment of pbmb", a.URL)
	}
	return fmt.Errorf("this deployment calls itself %s://%s: use that address", own.Scheme, own.Host)
}

// Logout ends what this command line was given, at the deployment and here.
func (a *Account) Logout(ctx context.Context) error {
	known, err := a.file.read()
	if err != nil {
		return err
	}
	if _, signedIn := known.Deployments[a.URL]; !signedIn {
		return fmt.Errorf("%w at %s", ErrNotSignedIn, a.URL)
	}
	a.token = "" // a key of the environment is nobody's login
	ended := a.endGrant(ctx)
	if errors.Is(ended, ErrNotSignedIn) {
		ended = nil // it has ended already
	}
	if ended != nil {
		return fmt.Errorf("%w\nNothing was removed here: try again, or end it at %s/me", ended, a.URL)
	}
	return a.file.update(func(c *contents) error {
		delete(c.Deployments, a.URL)
		if c.Last == a.URL {
			c.Last = ""
		}
		return nil
	})
}

func (a *Account) endGrant(ctx context.Context) error {
	raw, err := a.Call(ctx, http.MethodGet, resourcePath+"/me", nil, nil)
	if err != nil {
		return err
	}
	var me struct {
		Grant string `json:"grant_id"`
	}
	if err := json.Unmarshal(raw, &me); err != nil || me.Grant == "" {
		return errors.New("the deployment does not say what this login is")
	}
	_, err = a.Call(ctx, http.MethodDelete, resourcePath+"/me/grants/"+url.PathEscape(me.Grant), nil, nil)
	return err
}
