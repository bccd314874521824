package device

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math/big"
	"strings"
)

// The letters of a user code: consonants alone, so that none spells a word and
// none is taken for a digit. Eight of them are 25 billion codes, of which one
// address may try five in ten minutes.
const (
	letters    = "BCDFGHJKLMNPQRSTVWXZ"
	codeLength = 8
)

const minSecret = 32 // of AUTH_SECRET

// userCodes makes user codes and the digests under which they are kept. These are
// keyed: without the key, a copy of the database would give the codes away to
// whoever tries them all.
type userCodes struct{ key []byte }

func newUserCodes(authSecret []byte) (*userCodes, error) {
	if len(authSecret) < minSecret {
		return nil, fmt.Errorf("AUTH_SECRET must have at least %d bytes", minSecret)
	}
	key, err := hkdf.Key(sha256.New, authSecret, nil, "pbmb device user code", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("deriving the key of user codes: %w", err)
	}
	return &userCodes{key}, nil
}

// generate returns a code as it is shown: BCDF-GHJK.
func (u *userCodes) generate() (code string, err error) {
	var b strings.Builder
	for i := range codeLength {
		if i == codeLength/2 {
			b.WriteByte('-')
		}
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			return "", fmt.Errorf("making a user code: %w", err)
		}
		b.WriteByte(letters[n.Int64()])
	}
	return b.String(), nil
}

// digest is the same for every way to type a code: in small letters, with spaces,
// without the hyphen.
func (u *userCodes) digest(typed string) []byte {
	mac := hmac.New(sha256.New, u.key)
	mac.Write([]byte(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(typed))))
	return mac.Sum(nil)
}
