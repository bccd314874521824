package e2e_test

import (
	"os"
	"os/exec"
	"testing"
)

// shotsEnv names a folder that gets a picture of every screen in both themes and
// both widths, for a person to look at.
const shotsEnv = "PBMB_SHOTS"

// TestBrowser sends people through the screens in a real Chromium; journeys.mjs
// says where they go, what they must find, and which rows of the specification
// that proves.
func TestBrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on the PATH")
	}
	d := newDemo(t, newData(t))
	args := []string{chromium, d.URL, d.SampleURL}
	if shots := os.Getenv(shotsEnv); shots != "" {
		args = append(args, shots)
	}
	var journeys []struct {
		Name  string `json:"name"`
		Error string `json:"error"`
		MS    int    `json:"ms"`
	}
	node(t, &journeys, nil, "journeys.mjs", args...)
	if len(journeys) == 0 {
		t.Fatal("nobody went anywhere")
	}
	for _, j := range journeys {
		t.Run(j.Name, func(t *testing.T) {
			t.Logf("%d ms", j.MS)
			if j.Error != "" {
				t.Error(j.Error)
			}
		})
	}
}
