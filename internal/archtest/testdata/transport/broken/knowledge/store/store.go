// Package store keeps.
package store

type Store struct{}
