package demo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/sync/sample"
)

// ready is the content of the ready file.
type ready struct {
	URL       string   `json:"url"`
	MCPURL    string   `json:"mcp_url"`
	SampleURL string   `json:"sample_url"`
	People    []Person `json:"people"`
	PID       int      `json:"pid"`
}

// announce tells people and programs how to reach the demo.
func announce(o Options, c config.Config, people []Person, notes []string) error {
	r := ready{
		URL:       c.PublicBaseURL,
		MCPURL:    c.PublicBaseURL + "/api/mcp",
		SampleURL: strings.TrimSuffix(c.Authority, sample.LoginPath),
		People:    people,
		PID:       os.Getpid(),
	}
	if o.ReadyFile != "" {
		if err := r.write(o.ReadyFile); err != nil {
			return fmt.Errorf("writing the ready file: %w", err)
		}
	}
	_, err := fmt.Fprint(o.Out, r.guide(notes))
	return err
}

// write writes the file whole, so that whoever waits for it reads all of it.
func (r ready) write(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	unfinished := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d", filepath.Base(path), r.PID))
	if err := os.WriteFile(unfinished, append(content, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}

// guide is what a person reads.
func (r ready) guide(notes []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\npbmb is ready at %s\n\n", r.URL)
	b.WriteString("People of the sample company; sign in with Microsoft and pick one:\n")
	for _, p := range r.People {
		roles := strings.Join(p.Roles, ", ")
		if roles == "" {
			roles = "no role"
		}
		fmt.Fprintf(&b, "  %-28s %s\n", p.Email, roles)
	}
	fmt.Fprintf(&b, "\nConnect an MCP client, such as Claude Code:\n  claude mcp add --transport http pbmb %s\n", r.MCPURL)
	b.WriteString(`
Three things to try:
  1. Connect as viewer@sample.example and ask: "What were net sales by region?"
  2. In the browser, as admin@sample.example, mark Customer[Customer] of the
     dataset Sales as personal data.
  3. Ask again as the viewer, now for the names of customers: the answer is a
     refusal that says what to do instead.
`)
	for _, note := range notes {
		fmt.Fprintf(&b, "\nNote: %s\n", note)
	}
	fmt.Fprintf(&b, "\nMicrosoft's stand-in is at %s.\nPress Ctrl+C to stop everything.\n", r.SampleURL)
	return b.String()
}
