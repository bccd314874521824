package mcpserver_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
)

// Nothing here changes under a client, so there is nothing to listen to: it is told
// so in a first message, and then the stream ends.
func TestListen(t *testing.T) {
	s, _ := newServer(t, again)
	headers := map[string]string{
		"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
	}
	const listen = `{"jsonrpc":"2.0","id":"a<1","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},
		"io.modelcontextprotocol/clientCapabilities":{}}}}`

	type message struct {
		ID     *string
		Method string
		Params struct {
			Meta          map[string]any `json:"_meta"`
			Notifications map[string]any
		}
		Result struct {
			Meta map[string]any `json:"_meta"`
		}
	}
	const subscription = "io.modelcontextprotocol/subscriptionId"
	// Many at once, so that the order is not a matter of chance.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				resp, body := post(t, s, "POST", listen, headers)
				if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
					t.Errorf("%d %s: %s", resp.StatusCode, got, body)
					return
				}
				var messages []message
				for line := range strings.Lines(body) {
					if data, ok := strings.CutPrefix(line, "data: "); ok {
						var m message
						if err := json.Unmarshal([]byte(data), &m); err != nil {
							t.Errorf("%v: %s", err, data)
						}
						messages = append(messages, m)
					}
				}
				if len(messages) != 2 {
					t.Errorf("%d messages, want 2: %s", len(messages), body)
					return
				}
				ack, end := messages[0], messages[1]
				if ack.Method != "notifications/subscriptions/acknowledged" || ack.ID != nil || ack.Params.Meta[subscription] != "a<1" ||
					ack.Params.Notifications == nil || len(ack.Params.Notifications) != 0 {
					t.Errorf("it begins with %s", body)
				}
				if end.ID == nil || *end.ID != "a<1" || end.Result.Meta[subscription] != "a<1" {
					t.Errorf("it ends with %s", body)
				}
			}
		})
	}
	wg.Wait()

	t.Run("what is refused is no stream", func(t *testing.T) {
		resp, body := post(t, s, "POST", strings.Replace(listen, "io.modelcontextprotocol/protocolVersion", "other", 1), headers)
		if resp.StatusCode != 400 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") || !strings.Contains(body, "-32602") {
			t.Errorf("%d %s: %s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
		}
	})
	t.Run("an older client knows no such thing", func(t *testing.T) {
		resp, body := post(t, s, "POST", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`, nil)
		if !strings.Contains(body, "-32601") {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	})
}
