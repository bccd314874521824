package embedding_test

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge/tmdl"
	"github.com/pbmb/pbmb/sync/sample/embedding"
	"github.com/pbmb/pbmb/sync/sample/embedding/vocabulary"
	"github.com/pbmb/pbmb/testdata/company"
)

func newEmbedder(t testing.TB) *embedding.Embedder {
	t.Helper()
	e, err := embedding.New()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// sharesTerm reports whether a line of the glossary has words of both texts.
func sharesTerm(terms []vocabulary.Term, a, b string) bool {
	for _, term := range terms {
		line := append([]string{term.Word}, term.Means...)
		has := func(text string) bool {
			return slices.ContainsFunc(strings.Fields(text), func(word string) bool { return slices.Contains(line, word) })
		}
		if has(a) && has(b) {
			return true
		}
	}
	return false
}

func similarity(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

// unrelated are texts that are near to none of the pairs below, some of them of
// the field.
var unrelated = []string{
	"weather", "mountain", "piano", "volcano", "poem", "whale", "birthday cake", "earthquake", "opera singer",
	"bacteria", "rainy afternoon in the forest", "parliament election", "goalkeeper", "employee absence days",
}

// SAMPLE-10: what means the same is nearer than anything unrelated. The first list
// is known from the words' vectors alone: none of its words is in the glossary with
// what it is compared to. The second is what the glossary is for.
func TestLikeWordsAreNear(t *testing.T) {
	e := newEmbedder(t)
	text, err := os.ReadFile("glossary.txt")
	if err != nil {
		t.Fatal(err)
	}
	terms, err := vocabulary.ReadGlossary(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for list, pairs := range map[string][][2]string{
		"words": {
			{"customer", "client"}, {"customer", "buyer"}, {"supplier", "manufacturer"}, {"purchase", "buy"}, {"price", "cost"},
			{"profit", "earnings"}, {"loss", "losses"}, {"payment", "paid"}, {"debt", "owed"},
			{"salary", "wages"}, {"salary", "pay"}, {"employee", "worker"}, {"staff", "personnel"}, {"hire", "recruit"},
			{"region", "area"}, {"country", "nation"}, {"city", "town"}, {"warehouse", "depot"}, {"delivery", "shipment"},
			{"delayed", "postponed"}, {"increase", "growth"}, {"decline", "decrease"}, {"average", "mean"}, {"total", "sum"},
			{"percentage", "share"}, {"budget", "spending"}, {"forecast", "outlook"}, {"month", "monthly"}, {"quarter", "quarterly"},
			{"year", "annual"}, {"discount", "rebate"}, {"refund", "reimbursement"}, {"damaged", "broken"}, {"complaint", "dissatisfaction"},
			{"campaign", "marketing"}, {"website", "online"}, {"member", "membership"}, {"product", "brand"}, {"category", "type"},
			{"manager", "director"}, {"tax", "levy"}, {"insurance", "premium"}, {"loan", "mortgage"}, {"asset", "property"},
			{"currency", "exchange rate"}, {"factory", "manufacturing plant"},
			{"product category", "kind of merchandise"}, {"late deliveries", "delayed shipments"},
			{"average salary", "mean wage"}, {"customer complaints", "unhappy clients"},
			{"most profitable product", "merchandise with the best earnings"},
		},
		"glossary": {
			{"revenue", "turnover"}, {"invoice", "bill"}, {"supplier", "vendor"}, {"product", "item"}, {"net sales by region", "turnover per area"}, {"turnover", "income from sales"},
			{"headcount", "number of employees"}, {"store manager", "shop owner"}, {"unit cost", "price per piece"},
			{"number of employees", "staff count"}, {"cost of goods", "expense of merchandise"}, {"churn", "lost customers"}, {"qty", "amount of units"}, {"ytd", "so far this year"},
			{"sales LY", "last year's revenue"}, {"PY amount", "value in the previous year"}, {"acct", "customer account"},
			{"COGS", "what the goods cost"}, {"stock", "inventory in the warehouse"}, {"KPI", "indicator of performance"},
			{"opex", "operating costs"}, {"EBITDA", "operating earnings"}, {"AOV", "average value of an order"},
			{"slicer", "filter"}, {"dashboard", "report"}, {"basket", "shopping cart"}, {"FTE", "full time staff"},
			{"Margin %", "profit percentage"}, {"# Customers", "number of clients"}, {"NetSalesYTD", "turnover this year to date"},
			{"net_sales_amt", "sales amount"}, {"freight", "shipping cost"}, {"receivables", "invoices not paid yet"},
		},
		"spelling": {
			{"revenu", "revenue"}, {"custmer", "customer"}, {"Umsätze", "Umsatz"}, {"Kundenzahl", "Kundenanzahl"},
			{"backorders", "orders in the backlog"}, {"salesperson", "salespeople"}, {"resupplying", "supply"},
			{"Tarnwick", "tarnwick's"}, {"Ｍａｒｇｉｎ", "margin"}, {"unitprice", "unit price"},
		},
	} {
		for _, pair := range pairs {
			a, b := e.Embed(pair[0]), e.Embed(pair[1])
			like := similarity(a, b)
			if list == "words" && sharesTerm(terms, pair[0], pair[1]) {
				t.Errorf("%s and %s are in one line of the glossary", pair[0], pair[1])
			}
			for _, other := range unrelated {
				if got := max(similarity(a, e.Embed(other)), similarity(b, e.Embed(other))); got >= like {
					t.Errorf("%s: %s and %s are %.2f alike, but %.2f with %s", list, pair[0], pair[1], like, got, other)
				}
			}
		}
	}
}

// questions as people ask them, with the measures that answer them.
var questions = map[string][]string{
	"How much turnover did we make?":                       {"Net sales", "Gross sales"},
	"revenue before any rebates":                           {"Gross sales"},
	"How much money did we give away in price reductions?": {"Discounts", "Discount %"},
	"What percentage of the list price is discounted?":     {"Discount %"},
	"What is our profit on what we sell?":                  {"Margin", "Gross profit"},
	"profitability as a percentage":                        {"Margin %", "Gross profit %"},
	"How many pieces were sold?":                           {"Units"},
	"average basket size in money":                         {"Average order value"},
	"turnover so far this year":                            {"Net sales YTD"},
	"revenue in the same period of the prior year":         {"Net sales LY", "Gross sales LY"},
	"How many people bought something from us?":            {"Active customers"},
	"clients who joined recently":                          {"New customers"},
	"goods sent back by buyers":                            {"Returned units", "Return rate"},
	"money paid back to clients":                           {"Refunds", "Refund share", "Refund rate"},
	"Did the shops reach their goals?":                     {"Store target", "Target reached", "Stores on target", "Target gap"},
	"sales through the internet":                           {"Net sales online", "Online share"},
	"How many employees do we have?":                       {"Headcount"},
	"sick leave of staff":                                  {"Days absent", "Days absent per head"},
	"mean wage of workers":                                 {"Average salary"},
	"wage bill":                                            {"Payroll", "Staff cost", "Average salary"},
	"How long do clients wait for a reply?":                {"Average minutes to answer", "Slowest answer", "Minutes to answer total"},
	"urgent support requests":                              {"High priority tickets", "Tickets"},
	"customer satisfaction rating":                         {"Average score", "Happy share", "Score rate", "Scores given"},
	"number of complaints from dissatisfied clients":       {"Unhappy tickets"},
	"inventory in the warehouses":                          {"Stock units", "Stock value", "Average stock"},
	"What is the inventory worth?":                         {"Stock value"},
	"products that are out of stock":                       {"Empty shelves", "Empty shelf rate"},
	"transport costs of carriers":                          {"Freight cost", "Freight per unit"},
	"Which share of shipments came punctually?":            {"On time rate"},
	"delayed shipments":                                    {"Late deliveries", "Average days late", "Worst delay"},
	"How much do debtors owe us?":                          {"Open amount", "Debtors with open invoices"},
	"bad debt we gave up on":                               {"Written off", "Loss rate"},
	"bills we sent out":                                    {"Invoices", "Invoiced"},
	"difference between plan and actual spending":          {"Variance", "Variance %"},
	"loyalty points that were redeemed":                    {"Points spent", "Spending rate"},
	"How many people are in the loyalty club?":             {"Members", "Active members", "Gold members"},
	"visitors of the website":                              {"Visits total"},
	"How many web visitors end up buying?":                 {"Conversion rate"},
	"marketing spend":                                      {"Campaign budget", "Cost per order"},
	"orders placed with suppliers":                         {"Purchase orders", "Purchase value"},
	"What do vendors cost us?":                             {"Purchase value", "Average purchase", "Open purchase value"},
	"sales per square meter of floor space":                {"Net sales per square metre"},
	"best selling product":                                 {"Best product", "Net sales rank of product"},
	"operating income":                                     {"Operating result", "Operating cost"},
	"year over year growth of the revenue":                 {"Net sales YoY %", "Net sales YoY", "Gross sales YoY %"},
}

const searched = 5

// SAMPLE-10: a question finds the measures that answer it among all of the company.
func TestQuestionsFindMeasures(t *testing.T) {
	e := newEmbedder(t)
	type document struct {
		name   string
		vector []float32
		near   float64
	}
	var documents []document
	for _, dir := range []string{
		"care/service-desk", "commercial/loyalty", "commercial/sales", "commercial/web-shop", "finance/finance",
		"finance/receivables", "people/people", "supply-chain/deliveries", "supply-chain/inventory",
	} {
		m, err := tmdl.LoadFS(company.Files, dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, tbl := range m.Tables {
			for _, measure := range tbl.Measures {
				documents = append(documents, document{name: measure.Name, vector: e.Embed(measure.Name + ". " + measure.Description)})
			}
		}
	}
	found, reciprocal := 0, 0.0
	for question, answers := range questions {
		for _, a := range answers {
			if !slices.ContainsFunc(documents, func(d document) bool { return d.name == a }) {
				t.Errorf("there is no measure %s", a)
			}
		}
		v := e.Embed(question)
		for i := range documents {
			documents[i].near = similarity(v, documents[i].vector)
		}
		slices.SortStableFunc(documents, func(a, b document) int { return cmp.Compare(b.near, a.near) })
		at := slices.IndexFunc(documents, func(d document) bool { return slices.Contains(answers, d.name) })
		reciprocal += 1 / float64(at+1)
		if at < searched {
			found++
			continue
		}
		var names []string
		for _, d := range documents[:searched] {
			names = append(names, d.name)
		}
		t.Logf("%s: at %d %s, after %s", question, at+1, documents[at].name, strings.Join(names, ", "))
	}
	t.Logf("%d of %d questions find an answer among the first %d of %d measures, mean reciprocal rank %.2f",
		found, len(questions), searched, len(documents), reciprocal/float64(len(questions)))
	if found*10 < len(questions)*7 {
		t.Errorf("only %d of %d questions find an answer among the first %d measures", found, len(questions), searched)
	}
}
