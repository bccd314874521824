package folder

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// maxBook is what an import takes (BOOKYML-05).
const maxBook = 256 << 10

// book looks at the file as far as this version can: at its size and its form, not
// at what it says. No error quotes it.
func (c *Checker) book(context.Context) Result {
	content, err := os.ReadFile(c.path(BookFile))
	if err != nil {
		return Result{Err: err}
	}
	if len(content) > maxBook {
		return Result{Err: fmt.Errorf("it has %d bytes, and an import takes at most %d", len(content), maxBook)}
	}
	if _, err := parser.ParseBytes(content, 0); err != nil {
		if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
			at := e.GetToken().Position
			return Result{Err: fmt.Errorf("line %d, column %d is not YAML", at.Line, at.Column)}
		}
		return Result{Err: errors.New("it is not YAML")}
	}
	return Result{Unchecked: true, Note: "it is YAML; what it says is not looked at, since this version imports nothing yet"}
}
