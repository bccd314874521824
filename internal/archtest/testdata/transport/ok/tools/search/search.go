// Package search declares what it needs.
package search

type Store interface{ Search() }
