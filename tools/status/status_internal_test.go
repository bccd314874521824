package status

import (
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge/secret"
)

// SECRET-26: what is said of a secret as its end comes nearer.
func TestWarnings(t *testing.T) {
	t.Parallel()
	end := time.Date(2027, 6, 30, 9, 0, 0, 0, time.UTC)
	scanner := secret.Info{Definition: secret.Definition{Name: secret.ScannerClient}, Check: secret.Readable, ExpiresAt: end}
	const day = 24 * time.Hour
	for left, want := range map[time.Duration]string{
		31 * day: "",
		30 * day: "The secret scanner.client_secret ends on 2027-06-30.",
		8 * day:  "The secret scanner.client_secret ends on 2027-06-30.",
		7 * day:  "The secret scanner.client_secret ends on 2027-06-30, within a week: make a new one where it was issued and set it.",
		0:        "The secret scanner.client_secret ended on 2027-06-30: make a new one where it was issued and set it.",
	} {
		got := warnings(nil, []secret.Info{scanner}, 0, false, end.Add(-left))
		if len(got) > 1 || len(got) == 0 != (want == "") || len(got) == 1 && got[0] != want {
			t.Errorf("%v before the end: %q, want %q", left, got, want)
		}
	}
	lost := secret.Info{Definition: secret.Definition{Name: secret.AppClient}, Check: secret.Unreadable}
	if got := warnings(nil, []secret.Info{lost}, 0, false, end); len(got) != 1 {
		t.Errorf("an unreadable one: %q", got)
	}
	// ROLES-50
	if got := warnings(nil, nil, 0, true, end); len(got) != 1 || got[0] != "The policies on disk are newer than those that Cerbos decides by: restart Cerbos." {
		t.Errorf("with newer policies on disk: %q", got)
	}
}
