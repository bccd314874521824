// Package reference finds what the expressions of a model refer to: the tables,
// columns, measures and functions that one expression names, and what it names
// that the model has not; and the graph of a whole model, with what each element
// depends on, what depends on it, and the cycles among them.
//
// It reads names and no rows. What a name stands for is decided in package dax;
// which of the rows' values may end up in an answer is the business of package pii.
package reference
