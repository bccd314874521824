package deployment

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Changed returns when anything of the policies below a folder last changed, a file
// that came or went included; the zero time where there are none and never were.
func Changed(folder string) (time.Time, error) {
	var newest time.Time
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since it was listed, which its folder tells
		}
		if err != nil {
			return err
		}
		if !d.IsDir() && !IsPolicy(d.Name()) {
			return nil
		}
		info, err := os.Stat(path) // of what a link leads to
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, t := range []time.Time{info.ModTime(), statusTime(info)} {
			if t.After(newest) {
				newest = t
			}
		}
		return nil
	})
	return newest, err
}
