// Package pii says what of a model is personal data and which queries touch it.
//
// Admins mark names: a column, a table, a measure. [Cover] lays these rules over
// one model. What that covers is hidden from lists ([Coverage.Column],
// [Coverage.Measure]), and [Check] refuses queries that could read it, for people
// who do not hold the role that allows it. A query may read more than the rules
// name: a column that a relationship joins to a marked one, the columns of a table
// that is keyed by it, a calculated column that copies it, a measure that gives a
// value of it back.
//
// The check refuses whatever it does not understand. It never looks at values,
// and it replaces no permission of Power BI.
//
// Who holds the role is decided in policies; how the language is read, in dax.
package pii
