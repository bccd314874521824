// Package command makes a command of every operation of the catalogue. Nothing is
// said here of any single one: its words and arguments are those of the command
// line that it declares, its flags the other fields of its input, its help their
// documentation, and what is printed follows from the type of its output. The
// operation itself runs at the deployment, through the REST API.
package command
