// Package doctest has the tests of what is written for people and agents rather
// than for the compiler: the threat model, the guide, the rules for agents and who
// owns what. It has tests alone.
package doctest
