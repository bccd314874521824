package config_test

import (
	"strings"
	"testing"

	"github.com/pbmb/pbmb/server/config"
)

// sound is an environment that both processes start with.
func sound() map[string]string {
	return map[string]string{
		"PUBLIC_BASE_URL":     "https://book.example",
		"AUTH_SECRET":         strings.Repeat("s", 32),
		"DATABASE_URL_API":    "postgres://api_rw:secret@db/pbmb",
		"DATABASE_URL_WORKER": "postgres://worker_rw:secret@db/pbmb",
		"CERBOS_ADDRESS":      "unix:/run/cerbos.sock",
		"POWERBI_TENANT_ID":   "5a3b1c00-7e57-4000-8000-0000000c0de5",
		"POWERBI_CLIENT_ID":   "5a3b1c00-7e57-4000-8000-000000000a99",
		"SCANNER_CLIENT_ID":   "5a3b1c00-7e57-4000-8000-00000005ca22",
	}
}

func read(changes map[string]string) config.Config {
	environment := sound()
	for k, v := range changes {
		environment[k] = v
	}
	return config.Read(func(name string) string { return environment[name] })
}

// OPS-05, NET-35, NET-38, FETCH-17, TENANT-18, ROLES-28
func TestMistakesAreNamed(t *testing.T) {
	if err := read(nil).CheckAPI(); err != nil {
		t.Fatal(err)
	}
	if err := read(nil).CheckWorker(); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		changes map[string]string
		names   string // in the message; empty where it is accepted
	}{
		"a short secret":                  {map[string]string{"AUTH_SECRET": "short"}, "AUTH_SECRET"},
		"an address without https":        {map[string]string{"PUBLIC_BASE_URL": "http://book.example"}, "PUBLIC_BASE_URL"},
		"an http authority in production": {map[string]string{"POWERBI_AUTHORITY": "http://localhost:8090/login"}, "POWERBI_AUTHORITY"},
		"an http authority in development": {map[string]string{
			"PBMB_ENV": "development", "POWERBI_AUTHORITY": "http://localhost:8090/login", "PUBLIC_BASE_URL": "http://localhost:8080",
		}, ""},
		"an unknown environment":         {map[string]string{"PBMB_ENV": "staging"}, "PBMB_ENV"},
		"a database that is none":        {map[string]string{"DATABASE_URL_API": "mysql://db"}, "DATABASE_URL_API"},
		"one proxy":                      {map[string]string{"TRUSTED_PROXY": "10.0.0.5"}, ""},
		"a range of proxies":             {map[string]string{"TRUSTED_PROXY": "10.0.0.0/24"}, ""},
		"every IPv4 address for proxy":   {map[string]string{"TRUSTED_PROXY": "0.0.0.0/0"}, "TRUSTED_PROXY"},
		"every IPv6 address for proxy":   {map[string]string{"TRUSTED_PROXY": "::/0"}, "TRUSTED_PROXY"},
		"a proxy that is no address":     {map[string]string{"TRUSTED_PROXY": "proxy"}, "TRUSTED_PROXY"},
		"a setting that is out of range": {map[string]string{"QUERY_TIMEOUT_SECONDS": "601"}, "QUERY_TIMEOUT_SECONDS must be a whole number from 1 to 600, such as 120"},
		"admin for everybody":            {map[string]string{"ACCESS_DEFAULT_ROLE": "admin"}, "ACCESS_DEFAULT_ROLE must be viewer, curator or none"},
		"a setting that is sound":        {map[string]string{"ACCESS_DEFAULT_ROLE": "none"}, ""},
		"a tenant that is no id":         {map[string]string{"POWERBI_TENANT_ID": "contoso"}, "POWERBI_TENANT_ID must be an id"},
		"no documents of clients":        {map[string]string{"CLIENT_METADATA_DOCUMENTS": "off"}, ""},
		"documents of some clients":      {map[string]string{"CLIENT_METADATA_DOCUMENTS": "some"}, "CLIENT_METADATA_DOCUMENTS"},
		"an unknown header":              {map[string]string{"CLIENT_ADDRESS_HEADER": "forwarded"}, "CLIENT_ADDRESS_HEADER"},
		"a proxy and a header":           {map[string]string{"TRUSTED_PROXY": "10.0.0.5", "CLIENT_ADDRESS_HEADER": "x-real-ip"}, "must not both be set"},
		"dev sign-in, a real authority":  {map[string]string{"PBMB_ENV": "development", "ALLOW_DEV_SIGN_IN": "1"}, "ALLOW_DEV_SIGN_IN"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := read(tt.changes).CheckAPI()
			if (err == nil) != (tt.names == "") || err != nil && !strings.Contains(err.Error(), tt.names) {
				t.Errorf("error %v, want one that names %q", err, tt.names)
			}
		})
	}
}

// OPS-05: five mistakes are five lines, and no secret is repeated.
func TestEveryMistakeAtOnce(t *testing.T) {
	err := read(map[string]string{
		"AUTH_SECRET": "hunter2", "PUBLIC_BASE_URL": "book", "DATABASE_URL_API": "mysql://u:hunter3@db",
		"CERBOS_ADDRESS": "", "POWERBI_TENANT_ID": "",
	}).CheckAPI()
	if err == nil || len(strings.Split(err.Error(), "\n")) != 5 || strings.Contains(err.Error(), "hunter") {
		t.Errorf("error\n%v", err)
	}
}

// TENANT-17
func TestMockAuthority(t *testing.T) {
	for authority, mock := range map[string]bool{
		"http://localhost:8090/login":       true,
		"http://LocalHost":                  true,
		"http://entra.localhost:1":          true,
		"http://127.0.0.1:8090":             true,
		"http://[::1]:8090":                 true,
		"https://localhost.example.com":     false,
		"http://127.0.0.2":                  false,
		"http://10.0.0.1":                   false,
		"http://notlocalhost":               false,
		"https://login.microsoftonline.com": false,
	} {
		if got := read(map[string]string{"POWERBI_AUTHORITY": authority}).MockAuthority(); got != mock {
			t.Errorf("%s: %v, want %v", authority, got, mock)
		}
	}
}

// SIGNIN-37: both locks, and the mock.
func TestDevSignInNeedsBothLocks(t *testing.T) {
	const local = "http://localhost:8090/login"
	for name, tt := range map[string]struct {
		environment, allow, authority string
		open                          bool
	}{
		"both":                  {"development", "1", local, true},
		"in a test":             {"test", "1", local, true},
		"in production":         {"production", "1", local, false},
		"not allowed":           {"development", "", local, false},
		"allowed by a word":     {"development", "true", local, false},
		"allowed with a blank":  {"test", "1 ", local, false},
		"allowed by a zero":     {"test", "0", local, false},
		"in no environment":     {"", "1", local, false},
		"in another spelling":   {"Development", "1", local, false},
		"over a real authority": {"development", "1", "https://login.microsoftonline.com", false},
	} {
		c := read(map[string]string{"PBMB_ENV": tt.environment, "ALLOW_DEV_SIGN_IN": tt.allow, "POWERBI_AUTHORITY": tt.authority})
		if c.DevSignIn() != tt.open {
			t.Errorf("%s: open is %v", name, c.DevSignIn())
		}
	}
}
