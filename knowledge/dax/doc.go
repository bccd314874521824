// Package dax reads and writes DAX, the language of Power BI's semantic models:
// a scanner and a precedence-climbing parser for whole queries and single
// expressions, with a position on every node and all errors collected; a
// formatter and a walker; resolution of names against a [knowledge.Model]; and a
// writer that quotes every name and value.
//
// What is personal data in a query is decided in package pii, and the evaluation
// of queries over rows, as the sample tenant does it, is in package eval.
package dax
