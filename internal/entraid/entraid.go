// Package entraid reads which email an ID token of Entra's vouches for, for the
// sign-in and for connections alike.
package entraid

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Claims are those that an email is read from.
type Claims struct {
	Email             string          `json:"email"`
	EmailOwner        json.RawMessage `json:"xms_edov"`
	PreferredUsername string          `json:"preferred_username"`
}

// Address gives the email that counts (SIGNIN-11): Entra fills the claim from the
// directory's mail attribute, which anybody's admin may set to anything, unless
// it says that the domain's owner was verified.
func (c Claims) Address() (string, bool) {
	if string(c.EmailOwner) == "true" {
		if email, ok := Address(c.Email); ok {
			return email, true
		}
	}
	if strings.Contains(strings.ToUpper(c.PreferredUsername), "#EXT#") {
		return "", false // the directory's own name for a guest, not their address
	}
	return Address(c.PreferredUsername)
}

var form = regexp.MustCompile(`^[^@\s"<>(),:;\\]+@[^@\s.]+(\.[^@\s.]+)+$`)

const longest = 254

// Address gives an email as it is kept, or false where a text has not the form of
// one.
func Address(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if len(text) > longest || !form.MatchString(text) {
		return "", false
	}
	return text, true
}
