// Package output shows the answers of operations: as a table that fits a
// terminal, as tab-separated text in a pipe, and as JSON, YAML or CSV where that
// is asked for. What the columns are and in which order follows from the type of
// the answer; what is shown comes from the answer alone, of which no character
// may act on a terminal.
package output
