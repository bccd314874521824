package secret

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/pbmb/pbmb/internal/vault"
)

// A Name names a secret.
type Name string

const (
	AppClient     Name = "powerbi.client_secret" // of the app registration of sign-in and connections
	ScannerClient Name = "scanner.client_secret" // of the scanner's own registration
	EmbeddingKey  Name = "search.api_key"        // for the embedding provider
	CSVLinkKey    Name = "results.csv_link_key"  // signs links to results
)

// OfProvider is the name of a sign-in provider's client secret, by the provider's key.
func OfProvider(key string) Name { return Name(providerPrefix + key + providerSuffix) }

const (
	providerPrefix = "sign_in."
	providerSuffix = ".client_secret"
)

var providerKey = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// A Definition is what is known of a secret before anybody has set it.
type Definition struct {
	Name    Name
	About   string            // what it is, for people
	Readers []vault.Container // sorted: who may open it, and nobody else

	// Header is set where the value travels in a header of HTTP.
	Header bool
}

// definitions are all secrets but those of sign-in providers, which have names of
// their own. A secret without readers could be used by nobody; a test refuses one.
var definitions = []Definition{
	{Name: AppClient, About: "Client secret of the app registration, for sign-in and Power BI connections", Readers: api},
	{Name: ScannerClient, About: "Client secret of the scanner's app registration", Readers: []vault.Container{vault.Worker}},
	{Name: EmbeddingKey, About: "Key for the embedding provider of the search", Readers: []vault.Container{vault.API, vault.Worker}, Header: true},
	{Name: CSVLinkKey, About: "Key that signs links to results", Readers: api},
}

var api = []vault.Container{vault.API}

// Definitions returns all secrets with a fixed name.
func Definitions() []Definition { return slices.Clone(definitions) }

// Define returns what is known of the secret of a name, and whether there is one.
func Define(name Name) (Definition, bool) {
	for _, d := range definitions {
		if d.Name == name {
			return d, true
		}
	}
	key, found := strings.CutPrefix(string(name), providerPrefix)
	if !found {
		return Definition{}, false
	}
	if key, found = strings.CutSuffix(key, providerSuffix); !found || !providerKey.MatchString(key) {
		return Definition{}, false
	}
	return Definition{Name: name, About: "Client secret of the sign-in provider " + key, Readers: api}, true
}

// An InvalidError says what is wrong with a value, without repeating it.
type InvalidError struct{ Problem string }

func (e *InvalidError) Error() string { return e.Problem }

// MaxLength is the longest value in bytes.
const MaxLength = 4096

func (d Definition) check(value string) error {
	switch {
	case value == "":
		return &InvalidError{"the value is empty"}
	case len(value) > MaxLength:
		return &InvalidError{fmt.Sprintf("the value is longer than %d bytes", MaxLength)}
	case strings.ContainsFunc(value, unicode.IsControl):
		return &InvalidError{"the value holds a control character, such as a line break"}
	case d.Header && strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }):
		return &InvalidError{"the value holds a character that a header of HTTP cannot carry"}
	}
	return nil
}

// shownFrom is the length from which on the end of a value is shown: of a shorter
// one, four characters would be too much of it.
const shownFrom = 16

func lastFour(value string) string {
	runes := []rune(value)
	if len(runes) < shownFrom {
		return ""
	}
	return string(runes[len(runes)-4:])
}

// A Check is how a stored secret stands.
type Check string

const (
	Missing    Check = "missing"    // nobody has set it
	Readable   Check = "readable"   // each reader can open it
	Unreadable Check = "unreadable" // a reader has an identity that it was not sealed for
)

// An Expiry says how near the end of a secret is.
type Expiry string

const (
	NoWarning Expiry = "none"
	Warn      Expiry = "warn"
	Urgent    Expiry = "urgent"
	Expired   Expiry = "expired"
)

const day = 24 * time.Hour

// ExpiryOf says how near the end is at a moment. A zero end never comes.
func ExpiryOf(end, now time.Time) Expiry {
	left := end.Sub(now)
	switch {
	case end.IsZero(), left > 30*day:
		return NoWarning
	case left > 7*day:
		return Warn
	case left > 0:
		return Urgent
	}
	return Expired
}

// Info is all that anybody is shown of a secret.
type Info struct {
	Definition
	Check     Check
	LastFour  string // empty for a short one
	SetBy     string
	SetAt     time.Time // zero where it is missing
	ExpiresAt time.Time // zero where no end is known
}
