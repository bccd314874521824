package sample

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// deviceGrant is the grant type of the device flow (RFC 8628).
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

const (
	deviceLife     = 15 * time.Minute
	deviceInterval = 5 // seconds between two questions whether it is done
)

// A device is a client that somebody signs in for elsewhere.
type device struct {
	userCode, scope string
	expires         time.Time
	person          *person // who signed in; nil as long as nobody did
	declined        bool
}

// devices are those that wait, by device code.
type devices struct {
	mu   sync.Mutex // guards list
	list map[string]*device
}

// deviceCode begins the device flow. It takes no secret, as at Entra where the
// registration allows public clients.
func (t *Tenant) deviceCode(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	if err := r.ParseForm(); err != nil {
		entraErrorf(400, "invalid_request", 9002313, "Invalid request. Request is malformed or invalid.").write(w, t.now())
		return
	}
	client, asked := r.PostForm.Get("client_id"), r.PostForm.Get("scope")
	var problem *entraError
	switch {
	case client == "":
		problem = entraErrorf(400, "invalid_request", 900144, "The request body must contain the following parameter: 'client_id'.")
	case client != AppID:
		problem = errUnknownClient(client)
	case asked == "":
		problem = entraErrorf(400, "invalid_request", 900144, "The request body must contain the following parameter: 'scope'.")
	default:
		_, problem = t.parseScope(asked)
	}
	if problem != nil {
		problem.write(w, t.now())
		return
	}
	code, d := secret(), &device{userCode: rand.Text()[:9], scope: asked, expires: t.now().Add(deviceLife)}
	t.devices.mu.Lock()
	for old, waiting := range t.devices.list {
		if t.now().After(waiting.expires.Add(deviceLife)) {
			delete(t.devices.list, old)
		}
	}
	t.devices.list[code] = d
	t.devices.mu.Unlock()
	address := t.base(r) + LoginPath + "/" + r.PathValue("tenant") + "/oauth2/deviceauth"
	noStore(w)
	writeJSON(w, http.StatusOK, object{
		"device_code": code, "user_code": d.userCode, "verification_uri": address,
		"expires_in": int(deviceLife.Seconds()), "interval": deviceInterval,
		"message": fmt.Sprintf("To sign in, use a web browser to open the page %s and enter the code %s to authenticate.", address, d.userCode),
	})
}

// deviceAuth is the page on which a code is entered, and who one is.
func (t *Tenant) deviceAuth(w http.ResponseWriter, r *http.Request) {
	noStore(w)
	if r.Method == http.MethodGet {
		page(w, http.StatusOK, "device", struct {
			Code   string
			People []Person
		}{r.URL.Query().Get("otc"), t.People()})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read", http.StatusBadRequest)
		return
	}
	t.mu.RLock()
	p := t.personByName(r.PostForm.Get("person"))
	t.mu.RUnlock()
	switch cancelled := r.PostForm.Has("cancel"); {
	case !cancelled && p == nil:
		t.showError(w, entraErrorf(400, "invalid_grant", 50034, "The user account does not exist in the Tarnwick Outfitters directory."))
	case !cancelled && p.disabled.Load():
		t.showError(w, errDisabled())
	case !t.devices.answer(r.PostForm.Get("code"), p, t.now()):
		t.showError(w, entraErrorf(400, "invalid_grant", 70019, "The code that you entered is wrong or has expired."))
	default:
		page(w, http.StatusOK, "done", nil)
	}
}

// answer gives the device of a user code its person, or none where they declined.
// It reports whether there is such a device.
func (l *devices) answer(userCode string, p *person, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.list {
		if strings.EqualFold(d.userCode, strings.TrimSpace(userCode)) && now.Before(d.expires) && d.person == nil && !d.declined {
			d.person, d.declined = p, p == nil
			return true
		}
	}
	return false
}

// redeemDevice gives the tokens of a device whose person signed in.
func (t *Tenant) redeemDevice(r *http.Request) (object, *entraError) {
	client, code := r.PostForm.Get("client_id"), r.PostForm.Get("device_code")
	t.devices.mu.Lock()
	defer t.devices.mu.Unlock()
	d := t.devices.list[code]
	switch {
	case client != AppID:
		return nil, errUnknownClient(client)
	case d == nil:
		return nil, entraErrorf(400, "bad_verification_code", 70019, "Verification code is unknown or was used already.")
	case t.now().After(d.expires):
		return nil, entraErrorf(400, "expired_token", 70020, "The provided value for the input parameter 'device_code' is not valid: this device code has expired.")
	case d.declined:
		return nil, entraErrorf(400, "authorization_declined", 70018, "The end-user denied the authorization request.")
	case d.person == nil:
		return nil, entraErrorf(400, "authorization_pending", 70016, "OAuth 2.0 device flow error. Authorization is pending. Continue polling.")
	}
	delete(t.devices.list, code)
	form := url.Values{} // the scope of the tokens is the one that the flow began with
	return t.personTokens(&http.Request{Host: r.Host, TLS: r.TLS, PostForm: form}, grant{person: d.person, client: client, scope: d.scope})
}
