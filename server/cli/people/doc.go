// Package people puts the command line for people together: the commands of the
// catalogue's operations (package command) run for whoever is signed in (package
// account), and their answers are shown (package output). Signing in and out are
// commands of their own, and so is every sign of life while something takes long.
package people
