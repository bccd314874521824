// Package ui holds the browser screens: a single-page application whose source
// is under src and whose build, made by `npm run build`, is embedded from dist.
// It has no data in it; package server/web serves it.
package ui

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

//go:embed paths.json
var paths []byte

// FS returns the build: index.html and, below assets, the hashed files that it
// loads. Where the build has not been made it holds no index.html.
func FS() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(fmt.Sprintf("opening the embedded dist: %v", err)) // a constant, valid path
	}
	return sub
}

// Paths returns the path of every screen, ":name" standing for one segment.
// It is the one list that both the router of the application and the server's
// public paths are made from.
func Paths() []string {
	var list []string
	if err := json.Unmarshal(paths, &list); err != nil {
		panic(fmt.Sprintf("reading the embedded paths.json: %v", err)) // a test reads it first
	}
	return list
}
