package operation

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// PageInput is embedded in the input of every list.
type PageInput struct {
	Cursor string `json:"cursor,omitempty" doc:"next_cursor of the page before; leave out for the first page" maxLength:"64"`
	Limit  int    `json:"limit,omitempty" doc:"Items on a page" minimum:"1" maximum:"200" default:"50"`
}

// maxOffset is beyond every list, and far from where adding to it overflows.
const maxOffset = 1 << 31

// Offset returns how many items come before the page that the input asks for.
func (in PageInput) Offset() (int, error) {
	if in.Cursor == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	number, found := strings.CutPrefix(string(raw), "after:")
	offset, convErr := strconv.Atoi(number)
	if err != nil || !found || convErr != nil || offset < 0 || offset > maxOffset {
		return 0, Invalidf("Take next_cursor of the page before as it is, or leave cursor out.", "The cursor %q is not one of ours.", in.Cursor)
	}
	return offset, nil
}

// A Page is the output of a list: some of the items that the caller can see, and
// how to get the others.
type Page[T any] struct {
	Items      []T    `json:"items" doc:"What was found, in the order of the list" cut:"rows"`
	Total      int    `json:"total" doc:"All items that you can see"`
	PIIHidden  int    `json:"pii_hidden,omitempty" doc:"How many items were left out because they are personal data"`
	NextCursor string `json:"next_cursor,omitempty" doc:"Give this as cursor for the next page; absent on the last"`
	Note       string `json:"note,omitempty" doc:"What was left out of this answer, and how to get it"`

	offset int
}

// NewPage returns the page of items that starts after offset items of total.
func NewPage[T any](items []T, offset, total, piiHidden int) Page[T] {
	if items == nil {
		items = []T{}
	}
	p := Page[T]{Items: items, Total: total, PIIHidden: piiHidden, offset: offset}
	p.continueAfter(len(items))
	return p
}

func (p *Page[T]) continueAfter(kept int) {
	p.NextCursor = ""
	if next := p.offset + kept; next < p.Total {
		p.NextCursor = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "after:%d", next))
	}
}

// WasCut says in the note what was left out, and lets the cursor go on from there.
func (p *Page[T]) WasCut(kept, of int, shortened bool) {
	p.continueAfter(kept)
	var notes []string
	if shortened {
		notes = append(notes, "Long texts were shortened to fit; a smaller limit shows more of them.")
	}
	if kept < of {
		notes = append(notes, fmt.Sprintf("%d of the %d items of this page fitted; next_cursor goes on after them.", kept, of))
	}
	p.Note = strings.Join(notes, " ")
}
