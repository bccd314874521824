// Package report is what the sample tenant's reports are made of: pages of
// visuals, read from a small YAML format; the DAX that a visual asks its model,
// with the filters that are on it; and the page that draws the answers in a frame,
// which speaks the protocol of Microsoft's JavaScript library (powerbi-client).
//
// It decides nothing about who sees what: the rows of a visual are those that the
// engine gives the identity that it is handed.
package report
