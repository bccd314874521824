package deployment

import (
	"io/fs"
	"syscall"
	"time"
)

// statusTime is when the system last changed the file, which no copy or move keeps
// as it keeps the time that a file was written.
func statusTime(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(stat.Ctim.Unix())
	}
	return time.Time{}
}
