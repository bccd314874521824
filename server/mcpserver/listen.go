package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// listen serves a subscription on a stream that ends at once, since nothing that a
// client may listen to changes here. The acknowledgement is written here and not by
// the library, which drops its own where the answer is ready in the same moment.
func (h *Handler) listen(w http.ResponseWriter, r *http.Request, id json.RawMessage, body []byte) {
	answer := h.handle(r, body)
	var told struct {
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(answer.body.Bytes(), &told) != nil || told.Result == nil {
		answer.writeTo(w)
		return
	}
	acknowledged, err := json.Marshal(map[string]any{
		"jsonrpc": mcp.JSONRPC_VERSION, "method": mcp.MethodNotificationSubscriptionsAcknowledged,
		"params": map[string]any{
			"_meta":         map[string]any{mcp.MetaKeySubscriptionID: id},
			"notifications": mcp.SubscriptionFilter{},
		},
	})
	if err != nil {
		panic(err) // the id was read as JSON
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	// The client has gone where this fails, and there is nobody to tell.
	_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\nevent: message\ndata: %s\n\n", acknowledged, bytes.TrimSpace(answer.body.Bytes()))
}
