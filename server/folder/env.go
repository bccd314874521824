package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/joho/godotenv"

	"github.com/pbmb/pbmb/server/config"
)

// BookFile has settings, conventions, roles and rules for an import.
const BookFile = "book.yml"

// env sees to it that the bootstrap values are all there and nobody else's to
// read. No error has a value in it.
func (c *Checker) env(context.Context) Result {
	info, err := os.Stat(c.path(EnvFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Result{Err: fmt.Errorf("there is no %s: pbmb init makes one", EnvFile)}
	}
	if err != nil {
		return Result{Err: err}
	}
	var problems []error
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		problems = append(problems, fmt.Errorf("its mode is %04o, and others must not read it: chmod 600 %s", mode, EnvFile))
	}
	values, err := c.readEnv()
	if err != nil {
		return Result{Err: errors.Join(append(problems, err)...)}
	}
	problems = append(problems, config.Read(func(name string) string { return values[name] }).Check())
	return Result{Err: errors.Join(problems...)}
}

func (c *Checker) readEnv() (map[string]string, error) {
	content, err := os.ReadFile(c.path(EnvFile))
	if err != nil {
		return nil, err
	}
	values, err := godotenv.UnmarshalBytes(content)
	if err == nil {
		return values, nil
	}
	// The library's own words quote the file. What it stumbles over is the line from
	// which on nothing can be read.
	lines := strings.SplitAfter(string(content), "\n")
	broken := len(lines)
	for ; broken > 1; broken-- {
		if _, err := godotenv.Unmarshal(strings.Join(lines[:broken-1], "")); err == nil {
			break
		}
	}
	return nil, fmt.Errorf("line %d is not NAME=value", broken)
}

// PublicURL is the address of the deployment, as its bootstrap values have it, ""
// where they do not say.
func (c *Checker) PublicURL() string {
	values, err := c.readEnv()
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(values["PUBLIC_BASE_URL"], "/")
}
