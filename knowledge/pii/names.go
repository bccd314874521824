package pii

import (
	"slices"
	"strings"
	"unicode"

	"github.com/pbmb/pbmb/knowledge"
)

// A Confidence says how likely a suggestion is right; more is likelier.
type Confidence int

const (
	Low Confidence = iota + 1
	Medium
	High
)

func (c Confidence) String() string {
	switch c {
	case High:
		return "high"
	case Medium:
		return "medium"
	}
	return "low"
}

// A wordGroup is what names of one kind of personal data are made of, in the
// languages in which models are mostly written. Words are folded and without
// accents; one of several parts matches those parts in a row. A name of figures
// with such words is mostly about them (EmailCount) and counts for less.
type wordGroup struct {
	what       string
	confidence Confidence
	dates      bool // it is a date, so figures and dates are as good as texts
	figures    bool // it is a number, so figures are as good as texts
	words      []string
}

var wordGroups = []wordGroup{
	{what: "an email address", confidence: High, words: []string{
		"email", "e mail", "mail", "mailaddress", "emailaddress", "upn", "user principal name", "courriel", "correo", "posta elettronica", "epost", "e post",
	}},
	{what: "a telephone number", confidence: High, figures: true, words: []string{
		"phone", "telephone", "mobile", "cell phone", "fax", "telefon", "telefonnummer", "handy", "handynummer", "mobiltelefon", "telefono", "telephone portable", "telefoon", "celular", "movil", "telefone",
	}},
	{what: "the name of a person", confidence: High, words: []string{
		"first name", "firstname", "last name", "lastname", "surname", "family name", "given name", "full name", "fullname", "maiden name", "middle name", "nickname",
		"vorname", "nachname", "familienname", "geburtsname", "prenom", "nom de famille", "nombre completo", "apellido", "apellidos", "cognome", "voornaam", "achternaam", "sobrenome", "fornavn", "etternavn", "efternamn", "fornamn",
		"customer name", "employee name", "patient name", "contact name", "person name", "user name", "username", "member name", "student name",
		"kundenname", "mitarbeitername", "nom du client", "nom client", "nom employe", "nombre del cliente", "nombre cliente", "nome cliente", "klantnaam", "kundnamn",
	}},
	{what: "a date of birth", confidence: High, dates: true, words: []string{
		"birth date", "birthdate", "date of birth", "birthday", "dob", "geburtsdatum", "geburtstag", "date de naissance", "naissance", "fecha de nacimiento", "nacimiento", "data di nascita", "nascita", "geboortedatum", "data de nascimento", "fodelsedatum", "fodselsdato",
	}},
	{what: "a number that identifies a person", confidence: High, figures: true, words: []string{
		"ssn", "social security", "social security number", "national id", "national insurance", "passport", "passport number", "tax id", "tin", "driving licence", "drivers license", "driver license",
		"sozialversicherungsnummer", "steuernummer", "ausweisnummer", "personalausweis", "reisepass", "numero de securite sociale", "dni", "nif", "codice fiscale", "bsn", "cpf", "personnummer",
	}},
	{what: "a bank account or card", confidence: High, figures: true, words: []string{
		"iban", "bank account", "account holder", "credit card", "card number", "bankverbindung", "kontonummer", "kreditkarte", "carte bancaire", "tarjeta de credito",
	}},
	{what: "a postal address", confidence: Medium, words: []string{
		"address", "address line", "street", "street address", "house number", "adresse", "strasse", "anschrift", "hausnummer", "rue", "direccion", "calle", "indirizzo", "straat", "adres", "endereco", "gatuadress",
	}},
	{what: "where somebody was, or their network address", confidence: Medium, figures: true, words: []string{
		"ip address", "ip adresse", "mac address", "device id", "latitude", "longitude", "gps",
	}},
	{what: "what is personal about somebody", confidence: Medium, figures: true, words: []string{
		"gender", "sex", "marital status", "religion", "ethnicity", "nationality", "salary", "wage", "health", "diagnosis", "disability", "geschlecht", "familienstand", "staatsangehorigkeit", "gehalt", "konfession", "gesundheit", "diagnose",
		"sexe", "situation de famille", "nationalite", "salaire", "genero", "salario", "sesso", "stipendio", "geslacht", "salaris",
	}},
	{what: "a post code", confidence: Low, figures: true, words: []string{
		"post code", "postcode", "postal code", "zip", "zip code", "zipcode", "plz", "postleitzahl", "code postal", "codigo postal", "cap",
	}},
}

// people are tables whose rows are mostly persons: there, a column that is called
// Name alone, or as the table itself, is theirs.
var people = []string{
	"customer", "client", "employee", "person", "people", "patient", "contact", "user", "member", "student", "guest", "subscriber", "applicant", "citizen",
	"kunde", "kunden", "mitarbeiter", "person", "personen", "patient", "benutzer", "mitglied", "schuler", "client", "clients", "employe", "employes", "personne", "utilisateur",
	"cliente", "clientes", "empleado", "persona", "usuario", "clienti", "dipendente", "utente", "klant", "medewerker", "persoon", "gebruiker", "kund", "anstalld", "salesperson", "seller",
}

var plainNames = []string{"name", "names", "nom", "nombre", "nome", "naam", "namn", "navn", "display name", "anzeigename"}

// byName says what a column is by its name and type, or ok is false.
func byName(table, column string, t knowledge.DataType) (what string, c Confidence, ok bool) {
	parts := split(column)
	figure := t == knowledge.Int64 || t == knowledge.Double || t == knowledge.Decimal
	for _, g := range wordGroups {
		if !slices.ContainsFunc(g.words, func(w string) bool { return within(parts, strings.Fields(w)) }) {
			continue
		}
		c := g.confidence
		switch {
		case t == knowledge.Boolean:
			continue // whether somebody has one, or agreed to be written to
		case t == knowledge.DateTime && !g.dates:
			continue // when something of it happened
		case figure && !g.figures:
			c = Low
		}
		return g.what, c, true
	}
	isText := t == knowledge.String || t == knowledge.Variant || t == ""
	if isText && ofPeople(table) {
		of := split(table)
		if slices.Equal(parts, of) || slices.Equal(singular(parts), singular(of)) {
			return "the name of a person", Medium, true
		}
		for _, n := range plainNames {
			if slices.Equal(parts, strings.Fields(n)) {
				return "the name of a person", High, true
			}
		}
	}
	return "", 0, false
}

func ofPeople(table string) bool {
	return slices.ContainsFunc(singular(split(table)), func(p string) bool { return slices.Contains(people, p) }) ||
		slices.ContainsFunc(split(table), func(p string) bool { return slices.Contains(people, p) })
}

func singular(parts []string) []string {
	out := slices.Clone(parts)
	for i, p := range out {
		if len(p) > 3 {
			out[i] = strings.TrimSuffix(p, "s")
		}
	}
	return out
}

// within tells whether the words stand in a row among the parts.
func within(parts, words []string) bool {
	for i := 0; i+len(words) <= len(parts); i++ {
		if slices.Equal(parts[i:i+len(words)], words) {
			return true
		}
	}
	return false
}

// split takes a name apart at blanks, punctuation, digits and where letter case
// tells that a word begins; the parts are folded and without accents.
func split(name string) []string {
	var parts []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			parts = append(parts, plain(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0:
			before := runes[i-1]
			begins := unicode.IsLower(before) || // birthDate
				unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1]) // IBANNumber
			if begins {
				end()
			}
		}
		word = append(word, r)
	}
	end()
	return parts
}
