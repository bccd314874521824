// Package powerbi is the typed client of Power BI's REST API: running DAX and
// reading refreshes under a person's token, and the read-only admin calls by
// which the scanner learns of a tenant. Tokens come from elsewhere and are given
// to each call; storing what is read is package scan's part.
package powerbi
