// Package mcpserver serves the catalogue's operations as MCP tools at
// POST /api/mcp, over streamable HTTP and without sessions: each request stands
// alone, and any process of the deployment answers the next one.
//
// mcp-go speaks the protocol. An HTTP layer of our own stands in front of it and
// sees to what the library leaves open: host and origin, the bearer token before
// anything else is told, methods, content type, body size, batches,
// notifications, which are acknowledged and never passed on (the library would
// let one caller's cancel another's call), and subscriptions.
package mcpserver
