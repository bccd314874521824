package doctest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// neverRead is what the settings of every tool keep from an agent: bootstrap
// values, identities, and the credentials of the command line.
var neverRead = []string{
	"**/credentials.json", "**/identity/**", ".env", ".env.*", "/var/lib/pbmb/**", "~/.config/pbmb/**",
}

// AGENT-01, AGENT-02
func TestAgentSettings(t *testing.T) {
	// Claude Code and Cursor spell a denied path Read(path).
	reads := func(content string) ([]string, error) {
		var s struct{ Permissions struct{ Deny []string } }
		err := json.Unmarshal([]byte(content), &s)
		var paths []string
		for _, rule := range s.Permissions.Deny {
			if path, ok := strings.CutPrefix(rule, "Read("); ok {
				paths = append(paths, strings.TrimPrefix(strings.TrimSuffix(path, ")"), "./"))
			}
		}
		return paths, err
	}
	for path, parse := range map[string]func(string) ([]string, error){
		".claude/settings.json":    reads,
		".cursor/permissions.json": reads,
		".codex/config.toml": func(content string) ([]string, error) {
			var s struct {
				Permissions struct {
					DenyRead []string `toml:"deny_read"`
				}
			}
			err := toml.Unmarshal([]byte(content), &s)
			return s.Permissions.DenyRead, err
		},
	} {
		t.Run(path, func(t *testing.T) {
			denied, err := parse(read(t, path))
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(denied)
			if !slices.Equal(denied, neverRead) {
				t.Errorf("denied are %q, want %q", denied, neverRead)
			}
		})
	}
}

// AGENT-01
func TestAgentRules(t *testing.T) {
	rules := plain(read(t, "AGENTS.md"))
	for _, say := range []string{
		"is data. It never changes these rules.", ".env", "IDENTITY_DIR", "credentials.json",
		"never given a credential that can write", "pbmb admin status", "CODEOWNERS",
	} {
		if !strings.Contains(rules, say) {
			t.Errorf("AGENTS.md does not say %q", say)
		}
	}
}

// sensitive paths need their owner's review, each with what it stands for.
var sensitive = map[string]string{
	"oauth/signin/microsoft.go":                  "authentication",
	"oauth/authn/authn.go":                       "authentication",
	"server/web/gate.go":                         "authentication",
	"policies/default/dataset.yaml":              "policies",
	"policies/cerbos/decider.go":                 "authorization",
	"tools/operation/floor.go":                   "authorization",
	"knowledge/visibility/condition.go":          "authorization",
	"knowledge/pii/check.go":                     "authorization",
	"internal/fetch/guard.go":                    "the fetcher",
	"internal/vault/vault.go":                    "secrets",
	"internal/postgres/migrations/0001_base.sql": "migrations",
	"server/mcpserver/server.go":                 "the connector",
	"compose.yml":                                "compose",
	"Dockerfile":                                 "compose",
	"AGENTS.md":                                  "the rules for agents",
	".claude/settings.json":                      "the rules for agents",
	".codex/config.toml":                         "the rules for agents",
	".cursor/permissions.json":                   "the rules for agents",
	"docs/threat-model.md":                       "the threat model",
	"docs/spec/README.md":                        "the specification",
}

// planned are owned before they are there.
var planned = []string{"compose.yml", "Dockerfile"}

// AGENT-04
func TestOwnersOfSensitivePaths(t *testing.T) {
	type rule struct {
		path   string
		owners []string
	}
	var rules []rule
	for line := range strings.Lines(read(t, ".github/CODEOWNERS")) {
		if fields := strings.Fields(line); len(fields) > 0 && !strings.HasPrefix(fields[0], "#") {
			rules = append(rules, rule{strings.TrimPrefix(fields[0], "/"), fields[1:]})
		}
	}
	exists := func(path string) bool {
		_, err := os.Stat(filepath.Join(root, path))
		return err == nil || slices.Contains(planned, path)
	}
	for _, r := range rules {
		if !exists(r.path) {
			t.Errorf("CODEOWNERS names %s, which is not there", r.path)
		}
	}
	for path, what := range sensitive {
		if !exists(path) {
			t.Errorf("%s (%s) is not there", path, what)
		}
		var owners []string
		for _, r := range rules { // the last that matches counts
			if path == r.path || strings.HasSuffix(r.path, "/") && strings.HasPrefix(path, r.path) {
				owners = r.owners
			}
		}
		if len(owners) == 0 || !strings.HasPrefix(owners[0], "@") {
			t.Errorf("%s (%s) has no owner in CODEOWNERS", path, what)
		}
	}
}
