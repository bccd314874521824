// Package growth makes up workspaces, datasets and people for scale tests, as many
// as are wanted. Nothing is held: a workspace, a dataset or a person is a pure
// function of a seed and a number, the same on every machine, and made when it is
// asked for.
//
// What it makes looks like what a company has after some years: the same metric
// under several names and written in several ways, copies that drifted, wide
// tables that nobody describes, personal data here and there, row-level security
// on some. Who may do what with it is decided in the package above, which serves
// it beside the invented company.
package growth
