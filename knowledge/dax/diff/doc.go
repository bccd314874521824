// Package diff compares two DAX expressions by what they say and not by how they
// are written, and names the differences in sentences.
//
// [Read] brings an expression into a form that is equal for two expressions that
// give the same in every context: spacing, comments, letter case, quotes,
// parentheses, the order of what has no order, renamed variables and several ways
// to write one thing do not show in it. Where two ways to write are not surely one
// thing, as = and == with blanks, the form keeps them apart. [Compare] then walks
// over two forms together and says where they part.
//
// A form is about its own expression. Two measures of different models that are
// the same here may still give different figures, as the measures and columns that
// they name are only compared by name.
package diff
