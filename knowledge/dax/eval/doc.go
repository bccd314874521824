// Package eval computes DAX over rows, as the sample tenant does in place of
// Power BI: an [Engine] holds a model with its rows, and [Engine.Query] answers
// a query as executeQueries would for one person.
//
// A query is compiled first: every name is bound and every function looked up
// before a row is read, so that a mistake is told with its place and nothing is
// half done. What is compiled are closures over an environment of filter
// context, row contexts and variables.
//
// The language itself is in package dax, single values are in package value, and
// the storage of rows is in package column.
package eval
