package pii_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
)

// PII-57: names in several languages, each with its reason.
func TestSuggestName(t *testing.T) {
	const text, date, number, flag = knowledge.String, knowledge.DateTime, knowledge.Int64, knowledge.Boolean
	for _, c := range []struct {
		table, column string
		dataType      knowledge.DataType
		want          string // part of the sentence; empty where nothing is suggested
		confidence    pii.Confidence
	}{
		{"Customer", "Email", text, "an email address", pii.High},
		{"Orders", "E-Mail", text, "an email address", pii.High},
		{"Orders", "contactEmailAddress", text, "an email address", pii.High},
		{"Customer", "Phone_Number", text, "a telephone number", pii.High},
		{"Customer", "Phone", number, "a telephone number", pii.High},
		{"Kunde", "Geburtsdatum", date, "a date of birth", pii.High},
		{"Client", "Date de naissance", date, "a date of birth", pii.High},
		{"Client", "Prénom", text, "the name of a person", pii.High},
		{"Cliente", "Apellidos", text, "the name of a person", pii.High},
		{"Kunde", "Straße", text, "a postal address", pii.Medium},
		{"Klant", "Achternaam", text, "the name of a person", pii.High},
		{"Employee", "Name", text, "the name of a person", pii.High},
		{"Customers", "Customer", text, "the name of a person", pii.Medium},
		{"Employee", "IBANNumber", text, "a bank account", pii.High},
		{"Customer", "ＥＭＡＩＬ", text, "an email address", pii.High},
		{"Staff", "Salary", number, "personal about somebody", pii.Medium},
		{"Customer", "ZIP", text, "a post code", pii.Low},

		{"Sales", "Email count", number, "but it holds figures", pii.Low},
		{"Customer", "Email opt-in", flag, "", 0},
		{"Customer", "Phone changed at", date, "", 0},
		{"Product", "Name", text, "", 0},
		{"Product", "Product", text, "", 0},
		{"Customer", "Customer", number, "", 0},
		{"Sales", "Amount", number, "", 0},
		{"Calendar", "Date", date, "", 0},
		{"Customer", "Blackmail", text, "", 0},
		{"Server", "Username hash length", number, "but it holds figures", pii.Low},
		{"Customer", "", text, "", 0},
	} {
		t.Run(c.table+"["+c.column+"]", func(t *testing.T) {
			s, ok := pii.SuggestName(c.table, c.column, c.dataType)
			switch {
			case ok != (c.want != ""):
				t.Errorf("suggested is %v: %q", ok, s.Why)
			case !strings.Contains(s.Why, c.want) || s.Confidence != c.confidence:
				t.Errorf("%q with confidence %v, want %q with %v", s.Why, s.Confidence, c.want, c.confidence)
			case ok && s.Reason != pii.ByName:
				t.Errorf("the reason is %q", s.Reason)
			}
		})
	}
}

// PII-58: what a role compares with who asks, however it is written.
func TestRoleColumns(t *testing.T) {
	for _, c := range []struct {
		table, filter string
		want          string
	}{
		{"Access", "[Login] = USERPRINCIPALNAME ()", "Access[Login]"},
		{"Access", "USERNAME() == 'Access'[Login]", "Access[Login]"},
		{"Access", "LOWER ( [Login] ) = LOWER ( USERPRINCIPALNAME () )", "Access[Login]"},
		{"Access", "VAR me = USERPRINCIPALNAME () RETURN [Login] = me", "Access[Login]"},
		{"Access", "VAR me = LOWER ( USERNAME () ) VAR again = me RETURN ( [Region] = \"North\" ) && [Login] = again", "Access[Login]"},
		{"Access", "[Login] IN { USERPRINCIPALNAME (), \"all\" }", "Access[Login]"},
		{"Access", "CONTAINSSTRING ( [Login], USERNAME () )", "Access[Login]"},
		{"Region", "Region[Region] = LOOKUPVALUE ( Access[Region], Access[Login], USERPRINCIPALNAME () )", "Access[Login]"},
		{"Region", "Region[Region] IN SELECTCOLUMNS ( FILTER ( Access, Access[Login] = USERPRINCIPALNAME () ), \"r\", Access[Region] )", "Access[Login]"},
		{"Region", "NOT ISEMPTY ( CALCULATETABLE ( Access, Access[Login] = USERNAME () ) )", "Access[Login]"},
		{"Access", "USERPRINCIPALNAME () = \"boss@example.com\" || [Login] = USERPRINCIPALNAME ()", "Access[Login]"},

		{"Access", "[Region] = \"North\"", ""},
		{"Access", "USERPRINCIPALNAME () = \"boss@example.com\" && [Region] = \"North\"", ""},
		{"Access", "[Login] = ", ""},
		{"Access", "[Nowhere] = USERNAME ()", ""},
		{"Access", "", ""},
	} {
		t.Run(c.filter, func(t *testing.T) {
			m := &knowledge.Model{
				Tables: []knowledge.Table{newTable("Access", "Login", "Region"), newTable("Region", "Region")},
				Roles:  []knowledge.Role{{Name: "Own", Tables: []knowledge.TablePermission{{Table: c.table, Filter: c.filter}}}},
			}
			var got []string
			for _, r := range pii.RoleColumns(m) {
				got = append(got, r.Table+"["+r.Name+"]")
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

func find(all []pii.Suggestion, reference string) (pii.Suggestion, bool) {
	i := slices.IndexFunc(all, func(s pii.Suggestion) bool { return s.String() == reference })
	if i < 0 {
		return pii.Suggestion{}, false
	}
	return all[i], true
}

// PII-59: calculated columns and tables that copy or transform a marked column.
func TestSuggestDerived(t *testing.T) {
	all := pii.Suggest(personal(), shop())
	for reference, source := range map[string]string{
		"Customer[Initials]": "Customer[Customer Name]",
		"Sales[Buyer Ref]":   "Customer[Customer Name]",
		"Contacts[Mail]":     "Customer[Email]",
	} {
		s, ok := find(all, reference)
		if !ok || s.Reason != pii.Derives || !strings.Contains(s.Why, source) {
			t.Errorf("%s: %+v, want it derived from %s", reference, s, source)
		}
	}
	for _, reference := range []string{"Sales[Size]", "Contacts[n]", "Sales[Amount]"} {
		if s, ok := find(all, reference); ok {
			t.Errorf("%s is suggested: %s", reference, s.Why)
		}
	}
}

// PII-60: measures that can give a marked value itself, and those that only count.
func TestSuggestMeasures(t *testing.T) {
	all := pii.Suggest(personal(), shop())
	for _, reference := range []string{
		"Customer[Contact List]", "Sales[Contacts of sales]", "Sales[First mail]", "Sales[Selected mail]",
	} {
		if s, ok := find(all, reference); !ok || s.Reason != pii.ShowsValue || s.Kind != pii.Measure {
			t.Errorf("%s: %+v, want it suggested for what it shows", reference, s)
		}
	}
	for _, reference := range []string{"Customer[Customer count]", "Customer[ABC]", "Sales[Total Sales]", "Sales[Net sales]", "Sales[Has mail]"} {
		if s, ok := find(all, reference); ok {
			t.Errorf("%s is suggested: %s", reference, s.Why)
		}
	}
}

// PII-53, PII-57: what was decided is left out, each reference is there once, and
// the likeliest come first.
func TestSuggestOrder(t *testing.T) {
	m := shop()
	m.Roles = []knowledge.Role{{Name: "Own", Tables: []knowledge.TablePermission{{Table: "Customer", Filter: "[Phone] = USERNAME ()"}}}}
	without := pii.Suggest(nil, m)
	for i, s := range without {
		if i > 0 && s.Confidence > without[i-1].Confidence {
			t.Errorf("%s (%v) is behind %s (%v)", s, s.Confidence, without[i-1], without[i-1].Confidence)
		}
	}
	if s, _ := find(without, "Customer[Phone]"); s.Reason != pii.Identity {
		t.Errorf("Customer[Phone] is suggested for %q, want the strongest reason", s.Reason)
	}
	if _, ok := find(without, "Customer[Email]"); !ok {
		t.Fatal("Customer[Email] is not suggested")
	}
	keys := map[string]bool{}
	for _, s := range without {
		if keys[s.Key()] {
			t.Errorf("%s is there twice", s)
		}
		keys[s.Key()] = true
	}
	for _, marked := range []bool{true, false} {
		rules := []pii.Rule{{Kind: pii.Column, Table: "CUSTOMER", Name: "email", PII: marked}}
		if s, ok := find(pii.Suggest(rules, m), "Customer[Email]"); ok {
			t.Errorf("decided (%v) and suggested: %s", marked, s.Why)
		}
	}
	if s, ok := find(pii.Suggest([]pii.Rule{{Kind: pii.Table, Table: "Customer", PII: true}}, m), "Customer[Email]"); ok {
		t.Errorf("its table is marked, and it is suggested: %s", s.Why)
	}
}
