// Package archtest has the tests of the project's own shape: which package may
// import which, where HTTP clients, secrets and SQL texts are made, and who runs
// an operation's handler. It has tests alone; each check is also run over small
// trees below testdata, one that keeps the rule and one that breaks it.
package archtest
