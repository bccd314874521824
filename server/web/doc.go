// Package web is the edge of the api: the gate that is closed by default with its
// list of public paths, the origin check, headers, the body limit, request ids and
// the request log, and the browser's shell. What answers behind the gate is in
// restapi, mcpserver and the packages of oauth.
package web
