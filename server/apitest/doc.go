// Package apitest tries the whole api, as package wire builds it, over real HTTP
// with a database, a Cerbos and a sample tenant of its own. It has tests alone.
package apitest
