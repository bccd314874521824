package protocol

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

const maxName = 100 // characters (OAUTH-43)

// CheckName says whether a client may call itself so. A name is shown to
// people: characters that are invisible or reverse the words beside them could
// make it say something else (OAUTH-44).
func CheckName(name string) error {
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName {
		return fmt.Errorf("it must have at most %d characters", maxName)
	}
	for _, r := range name {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) {
			return errors.New("it must not hold control or formatting characters")
		}
	}
	return nil
}
