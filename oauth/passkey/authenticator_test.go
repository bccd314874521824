package passkey_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

// Flags of authenticator data.
const (
	present    byte = 1 << 0
	verified   byte = 1 << 2
	eligible   byte = 1 << 3
	backedUp   byte = 1 << 4
	attested   byte = 1 << 6
	unlocked        = present | verified
	withinSite      = "localhost"
)

// A key is a passkey in an authenticator that does what a test wants of it.
type key struct {
	id      []byte
	private *ecdsa.PrivateKey
	handle  []byte // the person's, as it was told
	flags   byte   // that a sign-in has
	count   uint32
}

// options are what the api asks of a browser, as far as an authenticator minds.
type options struct {
	Challenge string `json:"challenge"`
	User      struct {
		ID string `json:"id"`
	} `json:"user"`
}

// An answer is what an authenticator and its browser are about to send.
type answer struct {
	kind, challenge, origin, site string
	crossOrigin                   bool
	flags                         byte
	count                         uint32
	id, handle                    []byte
	signer                        *ecdsa.PrivateKey

	afterwards func(authData []byte)     // what becomes of the data once it is signed
	beside     func(body map[string]any) // what a client adds to it
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func readOptions(t *testing.T, body string) options {
	t.Helper()
	var o struct {
		PublicKey options `json:"publicKey"`
	}
	if err := json.Unmarshal([]byte(body), &o); err != nil || len(o.PublicKey.Challenge) < 40 {
		t.Fatalf("no options: %v %s", err, body)
	}
	return o.PublicKey
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func decode(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// clientData is what the browser says of the page that asked.
func (a *answer) clientData(t *testing.T) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"type": a.kind, "challenge": a.challenge, "origin": a.origin, "crossOrigin": a.crossOrigin,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (a *answer) authData(more ...byte) []byte {
	site := sha256.Sum256([]byte(a.site))
	b := append(site[:], a.flags)
	b = binary.BigEndian.AppendUint32(b, a.count)
	return append(b, more...)
}

// create makes a passkey, as the options of a registration ask for it, and gives
// the credential that the browser sends.
func create(t *testing.T, origin, body string, changes ...func(*answer)) (*key, map[string]any) {
	t.Helper()
	o := readOptions(t, body)
	k := &key{id: []byte(rand.Text()), private: newKey(t), handle: decode(t, o.User.ID), flags: unlocked}
	a := &answer{
		kind: "webauthn.create", challenge: o.Challenge, origin: origin, site: withinSite, flags: unlocked | attested, id: k.id,
	}
	for _, change := range changes {
		change(a)
	}
	k.id, k.count, k.flags = a.id, a.count, a.flags&^attested
	point, err := k.private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	cose, err := webauthncbor.Marshal(webauthncose.EC2PublicKeyData{
		PublicKeyData: webauthncose.PublicKeyData{KeyType: int64(webauthncose.EllipticKey), Algorithm: int64(webauthncose.AlgES256)},
		Curve:         int64(webauthncose.P256), XCoord: point[1:33], YCoord: point[33:],
	})
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 16) // of no known make
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(append(data, a.id...), cose...)
	object, err := webauthncbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": a.authData(data...)})
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]any{
		"id": encode(a.id), "rawId": encode(a.id), "type": "public-key", "clientExtensionResults": map[string]any{},
		"response": map[string]any{
			"clientDataJSON": encode(a.clientData(t)), "attestationObject": encode(object), "transports": []string{"internal"},
		},
	}
	if a.beside != nil {
		a.beside(sent)
	}
	return k, sent
}

// sign answers the options of a sign-in, and gives the credential that the
// browser sends.
func (k *key) sign(t *testing.T, origin, body string, changes ...func(*answer)) map[string]any {
	t.Helper()
	a := &answer{
		kind: "webauthn.get", challenge: readOptions(t, body).Challenge, origin: origin, site: withinSite,
		flags: k.flags, count: k.count, id: k.id, handle: k.handle, signer: k.private,
	}
	for _, change := range changes {
		change(a)
	}
	clientData, authData := a.clientData(t), a.authData()
	said := sha256.Sum256(clientData)
	digest := sha256.Sum256(append(bytes.Clone(authData), said[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.signer, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	if a.afterwards != nil {
		a.afterwards(authData)
	}
	sent := map[string]any{
		"id": encode(a.id), "rawId": encode(a.id), "type": "public-key", "clientExtensionResults": map[string]any{},
		"response": map[string]any{
			"clientDataJSON": encode(clientData), "authenticatorData": encode(authData),
			"signature": encode(signature), "userHandle": encode(a.handle),
		},
	}
	if a.beside != nil {
		a.beside(sent)
	}
	return sent
}
