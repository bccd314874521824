package query

import (
	"testing"

	"github.com/pbmb/pbmb/knowledge/pii"
)

// PII-124: a value is gone however many quotation marks it holds.
func TestQuotedValuesLeaveErrors(t *testing.T) {
	for said, want := range map[string]string{
		"Cannot convert value 'Rosa Merrow' of type Text to type Number.":             "Cannot convert value '…' of type Text to type Number.",
		"Cannot convert value 'it's O'Brien of Cork' of type Text to type Number.":    "Cannot convert value '…' of type Text to type Number.",
		"Cannot convert value '12\" of O'Brien' of type Text to type Number.":         "Cannot convert value '…' of type Text to type Number.",
		"The value 'Rosa\nMerrow' and the value \"Kira\" in 'Customer' do not match.": "The value '…' do not match.",
		"The query ended with the error 'Rosa Mer":                                    "The query ended with the error '…'",
		"A circular dependency was detected.":                                         "A circular dependency was detected.",
	} {
		checked := check{coverage: &pii.Coverage{}}
		err := checked.clean(&UpstreamError{Status: 400, Message: said})
		if got := err.(*UpstreamError).Message; got != want {
			t.Errorf("of %q stays %q, want %q", said, got, want)
		}
	}
}
