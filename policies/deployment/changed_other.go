//go:build !linux

package deployment

import (
	"io/fs"
	"time"
)

func statusTime(fs.FileInfo) time.Time { return time.Time{} }
