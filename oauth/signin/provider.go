package signin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pbmb/pbmb/oauth/store"
)

// A Kind is a kind of sign-in provider.
type Kind string

const (
	Microsoft     Kind = store.Microsoft // the one tenant that the deployment belongs to
	Google        Kind = store.Google
	OpenIDConnect Kind = "oidc" // any other that publishes a discovery document
)

// GoogleIssuer is who signs Google's ID tokens.
const GoogleIssuer = "https://accounts.google.com"

// googleAddresses has Google's hosts for what a sign-in asks of it.
var googleAddresses = []string{GoogleIssuer, "https://oauth2.googleapis.com", "https://www.googleapis.com"}

// A Provider is a way to sign in, as it is configured now.
type Provider struct {
	ID       string // by which its accounts are known: the kind or, of OpenID Connect, a word of its own
	Kind     Kind
	Name     string // for people
	Issuer   string // as its ID tokens name it
	TenantID string // of Microsoft
	ClientID string

	// Secret opens the client secret, for each use anew.
	Secret func(context.Context) (string, error)
}

// NewMicrosoft returns the provider for the app registration of one tenant at an
// authority, such as https://login.microsoftonline.com.
func NewMicrosoft(authority, tenantID, clientID string, secret func(context.Context) (string, error)) Provider {
	return Provider{
		ID: string(Microsoft), Kind: Microsoft, Name: "Microsoft",
		Issuer:   strings.TrimSuffix(authority, "/") + "/" + strings.ToLower(tenantID) + "/v2.0",
		TenantID: tenantID, ClientID: clientID, Secret: secret,
	}
}

// Addresses are those at whose origins every endpoint of the provider must lie,
// and to which alone requests to it are sent.
func (p Provider) Addresses() []string {
	if p.Kind == Google && p.Issuer == GoogleIssuer {
		return googleAddresses
	}
	return []string{p.Issuer}
}

// Callback is the path that the provider sends browsers back to.
func (p Provider) Callback() string { return callbackPath(p.Kind) }

func callbackPath(kind Kind) string { return "/api/auth/callback/" + string(kind) }

func startPath(kind Kind) string { return "/api/auth/sign-in/" + string(kind) }

var (
	idForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,29}$`)

	// reserved are the words by which people are known who came another way.
	reserved = []string{string(Microsoft), string(Google), string(OpenIDConnect), store.Dev, "passkey"}
)

// CheckNew returns what is wrong with a provider that an admin wants to add,
// in words for them. With relaxed its issuer may be plain http; Google's is fixed
// to googleIssuer, which only the operator can set.
func (p Provider) CheckNew(googleIssuer string, relaxed bool) error {
	switch {
	case p.Kind == Google && p.ID != string(Google):
		return errors.New(`Google's id must be "google"`)
	case p.Kind == Google && p.Issuer != googleIssuer:
		return errors.New("Google's issuer is fixed: leave it out")
	case p.Kind != Google && p.Kind != OpenIDConnect:
		return errors.New("the kind must be google or oidc")
	case p.Kind == OpenIDConnect && (!idForm.MatchString(p.ID) || slices.Contains(reserved, p.ID)):
		return fmt.Errorf("the id must be 1 to 30 of a-z, 0-9 and -, begin with a letter, and be none of %s", strings.Join(reserved, ", "))
	case p.Kind == OpenIDConnect && (p.Issuer == GoogleIssuer || p.Issuer == googleIssuer):
		return errors.New("this is Google's issuer: use the kind google, whose domains are checked as Google's are")
	case !isLine(p.Name, 60):
		return errors.New("the name must be one line of 1 to 60 characters")
	case !isLine(p.ClientID, 300):
		return errors.New("the client id must be one line of 1 to 300 characters")
	}
	return checkIssuer(p.Issuer, relaxed)
}

// isLine says whether a text is one line that shows as it is written.
func isLine(s string, most int) bool {
	return strings.TrimSpace(s) == s && s != "" && utf8.RuneCountInString(s) <= most &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func checkIssuer(issuer string, relaxed bool) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(issuer, "#") ||
		len(issuer) > 500 || (u.Scheme != "https" && !(relaxed && u.Scheme == "http")) {
		return errors.New("the issuer must be an https address without query and fragment, such as https://login.example.com")
	}
	return nil
}
