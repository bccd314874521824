// Package restapi serves the catalogue's operations as REST under /api/v1, with
// RFC 9457 problem details for errors, and the OpenAPI 3.1 document that
// describes them. It has no handler of its own: every endpoint calls the guard.
package restapi
