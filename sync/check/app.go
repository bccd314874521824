package check

import (
	"context"
	"errors"
	"slices"

	"github.com/pbmb/pbmb/knowledge/check"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/powerbi"
)

// An App is one of our app registrations.
type App interface {
	// NewAppToken returns an access token of the application itself that Entra
	// gives now.
	NewAppToken(ctx context.Context, scope string) (string, error)
}

// ErrNoOne is returned by [Consents] where nobody has a connection to ask with.
var ErrNoOne = errors.New("nobody has connected a Power BI account")

// Consents are the delegated permissions of the app registration.
type Consents interface {
	// Consented lists what was consented to at Power BI and at Graph, by the names
	// that permissions have there, or returns [ErrNoOne].
	Consented(ctx context.Context) (powerBI, graph []string, err error)
}

// graphScope asks Graph for whatever was granted to an application.
const graphScope = "https://graph.microsoft.com/.default"

// The delegated permissions of the app registration (FETCH-25). Those of OpenID
// Connect come under Graph, where Entra lists them at all.
var (
	needed  = []string{"Dataset.Read.All", "User.Read"}
	allowed = append([]string{"openid", "profile", "email", "offline_access"}, needed...)
)

// AppRegistration asks whether the app registration has the delegated permissions
// that it needs and nothing else, application permissions included.
func AppRegistration(app App, consents Consents) check.Ask {
	return func(ctx context.Context) error {
		for _, scope := range []string{powerbi.AppScope, graphScope} {
			if _, err := tokenWithoutRoles(ctx, app, scope); err != nil {
				return err
			}
		}
		powerBI, graph, err := consents.Consented(ctx)
		if errors.Is(err, ErrNoOne) {
			return &check.Error{Code: check.NoOne}
		}
		if err != nil {
			return refused(err)
		}
		all := slices.Concat(powerBI, graph)
		switch {
		case slices.Contains(all, "Tenant.ReadWrite.All"):
			return &check.Error{Code: check.TenantWrite}
		case slices.Contains(all, "Tenant.Read.All"):
			return &check.Error{Code: check.TenantRead}
		}
		if extra := without(all, allowed); len(extra) > 0 {
			return &check.Error{Code: check.TooMuch, Names: extra}
		}
		if missing := without(needed, all); len(missing) > 0 {
			return &check.Error{Code: check.TooLittle, Names: missing}
		}
		return nil
	}
}

// without lists what is in all and not in some, sorted, each once.
func without(all, some []string) []string {
	left := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
	slices.Sort(left)
	return slices.Compact(left)
}

// tokenWithoutRoles returns a token of the application itself, or the failure of
// one that has application permissions.
func tokenWithoutRoles(ctx context.Context, app App, scope string) (string, error) {
	token, err := app.NewAppToken(ctx, scope)
	if err != nil {
		return "", refused(err)
	}
	roles, err := entra.Roles(token)
	switch {
	case err != nil:
		return "", &check.Error{Code: check.OddAnswer, Cause: err}
	case len(roles) > 0:
		return "", &check.Error{Code: check.HasRoles}
	}
	return token, nil
}

// refused gives the failure of a token that Entra did not give, or of an answer
// that Power BI did not.
func refused(err error) error {
	code := check.Unreachable
	if e, ok := errors.AsType[*entra.Error](err); ok {
		switch {
		case slices.Contains(e.Numbers, 7000222):
			code = check.EndedSecret
		case e.Code == "invalid_client":
			code = check.WrongSecret
		case slices.Contains(e.Numbers, 700016), e.Code == "unauthorized_client":
			code = check.UnknownApp
		case slices.Contains(e.Numbers, 90002):
			code = check.NoTenant
		case e.Status == 429:
			code = check.Throttled
		case e.Status < 500:
			code = check.OddAnswer
		}
	}
	if e, ok := errors.AsType[*powerbi.Error](err); ok {
		switch {
		case e.Throttled():
			code = check.Throttled
		case e.Unseen():
			code = check.MayNotScan
		case e.Status < 500:
			code = check.OddAnswer
		}
	}
	switch {
	case errors.Is(err, powerbi.ErrShape):
		code = check.OddAnswer
	case errors.Is(err, entra.ErrSecret):
		code = check.NoSecret
	}
	return &check.Error{Code: code, Cause: err}
}
