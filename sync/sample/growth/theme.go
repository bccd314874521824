package growth

import "github.com/pbmb/pbmb/knowledge"

// A theme is what a dataset is about: the columns of its fact table, the tables
// around it and its metrics. In templates {F} is the fact table, {D} the column of
// days, {T} a column's own table, {0}, {1} and so on are the names of earlier
// metrics, and a name in brackets stands for the column as the dataset spells it.
type theme struct {
	facts    []string // names of the fact table
	subjects []string // names of datasets
	core     []field  // the columns of the fact table; the first is the day
	metrics  []metric
	tables   []dimension
}

// A field is a column of a theme.
type field struct {
	name string
	kind fieldKind
	expr string // of a calculated column
	says string // its description
}

// A metric has several names and several ways to be written, of which each dataset
// takes one. The first is the one that most take.
type metric struct {
	names  []string
	says   string
	format string
	needs  int // how many columns of the fact table it takes
	ways   []string
}

// A dimension is a table around the facts.
type dimension struct {
	name   string
	fields []field
}

// A fieldKind says what the values of a column are like.
type fieldKind int

const (
	unknown fieldKind = iota
	aDay
	anAmount
	aCount
	aNumber // an order number or the like
	aKey
	aFlag
	aText
	aThing
	aPersonName
	anEmail
	aPhone
	aBirthday
	aCountry
	aRegion
	aCity
	aColour
	aState
	aClass
)

func (k fieldKind) dataType() knowledge.DataType {
	switch k {
	case aDay, aBirthday:
		return knowledge.DateTime
	case anAmount:
		return knowledge.Decimal
	case aCount, aNumber, aKey:
		return knowledge.Int64
	case aFlag:
		return knowledge.Boolean
	}
	return knowledge.String
}

// The themes by number.
const (
	sales = iota
	stock
	ledger
	people
	service
	marketing
)

// sum are the usual ways in which a column is added up.
func sum(column, beside string) []string {
	return []string{
		"SUM ( {F}[" + column + "] )",
		"SUMX ( {F}, {F}[" + column + "] )",
		"CALCULATE ( SUM ( {F}[" + column + "] ), {F}[" + beside + "] <> 0 )",
		"VAR total = SUM ( {F}[" + column + "] )\nRETURN\n    IF ( total <> 0, total )",
		"SUM ( {F}[" + column + "] ) + 0",
	}
}

func ratio(a, b string) []string {
	return []string{
		"DIVIDE ( " + a + ", " + b + " )",
		"DIVIDE ( " + a + ", " + b + ", 0 )",
		"IF ( " + b + " <> 0, " + a + " / " + b + " )",
		"VAR part = " + a + "\nVAR whole = " + b + "\nRETURN\n    DIVIDE ( part, whole )",
	}
}

func count(column string) []string {
	return []string{
		"COUNTROWS ( {F} )",
		"COUNTX ( {F}, {F}[" + column + "] )",
		"SUMX ( {F}, 1 )",
		"COUNTROWS ( FILTER ( {F}, NOT ISBLANK ( {F}[" + column + "] ) ) )",
	}
}

const (
	money   = "#,0.00"
	whole   = "#,0"
	percent = "0.0%"
)

var themes = [...]theme{sales: salesTheme, stock: stockTheme, ledger: ledgerTheme, people: peopleTheme, service: serviceTheme, marketing: marketingTheme}

var salesTheme = theme{
	facts:    []string{"Sales", "FactSales", "Order lines", "fct_sales"},
	subjects: []string{"Sales", "Sales overview", "Orders", "Store sales", "Revenue", "Sales cockpit", "Daily sales", "Customers and sales", "Margin analysis"},
	core: []field{
		{name: "Order date", kind: aDay}, {name: "Net amount", kind: anAmount, says: "After discounts, without tax"}, {name: "Quantity", kind: aCount},
		{name: "Gross amount", kind: anAmount}, {name: "Discount amount", kind: anAmount}, {name: "Cost amount", kind: anAmount}, {name: "Order number", kind: aNumber},
	},
	metrics: []metric{
		{names: []string{"Net sales", "Net revenue", "Sales net", "NetSales", "Turnover"}, says: "What customers paid after discounts, without tax.", format: money, needs: 3, ways: sum("Net amount", "Quantity")},
		{names: []string{"Units", "Units sold", "Quantity sold", "Qty"}, says: "Pieces sold.", format: whole, needs: 3, ways: sum("Quantity", "Net amount")},
		{names: []string{"Order lines", "Lines", "# lines"}, says: "Lines of orders.", format: whole, needs: 3, ways: count("Net amount")},
		{names: []string{"Average price", "Avg price", "Price per unit"}, says: "Net sales for each piece.", format: money, needs: 3, ways: ratio("[{0}]", "[{1}]")},
		{names: []string{"Gross sales", "Gross revenue", "Sales gross"}, says: "Before discounts.", format: money, needs: 4, ways: sum("Gross amount", "Quantity")},
		{names: []string{"Discounts", "Discount", "Rebates"}, says: "What was taken off the list price.", format: money, needs: 5, ways: sum("Discount amount", "Quantity")},
		{names: []string{"Discount %", "Discount share", "Rebate rate"}, says: "Discounts as a share of gross sales.", format: percent, needs: 5, ways: ratio("[{5}]", "[{4}]")},
		{names: []string{"Cost of goods", "COGS", "Cost"}, says: "What the goods sold had cost.", format: money, needs: 6, ways: sum("Cost amount", "Quantity")},
		{names: []string{"Margin", "Gross margin", "GM", "Profit"}, says: "Net sales less the cost of the goods.", format: money, needs: 6, ways: []string{
			"[{0}] - [{7}]", "SUM ( {F}[Net amount] ) - SUM ( {F}[Cost amount] )", "SUMX ( {F}, {F}[Net amount] - {F}[Cost amount] )",
			"VAR cost = [{7}]\nRETURN\n    [{0}] - cost",
		}},
		{names: []string{"Margin %", "Margin rate", "GM %"}, says: "Margin as a share of net sales.", format: percent, needs: 6, ways: ratio("[{8}]", "[{0}]")},
		{names: []string{"Orders", "Number of orders", "# orders"}, says: "Different orders.", format: whole, needs: 7, ways: []string{
			"DISTINCTCOUNT ( {F}[Order number] )", "COUNTROWS ( VALUES ( {F}[Order number] ) )", "COUNTROWS ( DISTINCT ( {F}[Order number] ) )", "SUMX ( VALUES ( {F}[Order number] ), 1 )",
		}},
	},
	tables: []dimension{customer, product, store, region, employee, channel, supplier, project, document},
}

var stockTheme = theme{
	facts:    []string{"Stock", "FactStock", "Inventory", "fct_stock"},
	subjects: []string{"Inventory", "Stock", "Warehouse stock", "Supply", "Stock turns", "Deliveries", "Material flow"},
	core: []field{
		{name: "Count date", kind: aDay}, {name: "Value", kind: anAmount}, {name: "On-hand units", kind: aCount},
		{name: "On-order units", kind: aCount}, {name: "Unit cost", kind: anAmount}, {name: "Batch number", kind: aNumber},
	},
	metrics: []metric{
		{names: []string{"Stock value", "Inventory value", "Value of stock"}, says: "What the goods on hand had cost.", format: money, needs: 3, ways: sum("Value", "On-hand units")},
		{names: []string{"Units on hand", "Stock units", "On hand", "Stock qty"}, says: "Pieces in the warehouses.", format: whole, needs: 3, ways: sum("On-hand units", "Value")},
		{names: []string{"Counts", "Stock counts", "# counts"}, says: "Countings.", format: whole, needs: 3, ways: count("Value")},
		{names: []string{"Value per unit", "Avg unit value"}, says: "Stock value for each piece.", format: money, needs: 3, ways: ratio("[{0}]", "[{1}]")},
		{names: []string{"Units on order", "On order", "Open units"}, says: "Pieces ordered and not there yet.", format: whole, needs: 4, ways: sum("On-order units", "Value")},
		{names: []string{"Coverage", "Order coverage"}, says: "Pieces on order for each on hand.", format: percent, needs: 4, ways: ratio("[{4}]", "[{1}]")},
		{names: []string{"Batches", "Number of batches"}, says: "Different batches.", format: whole, needs: 6, ways: []string{"DISTINCTCOUNT ( {F}[Batch number] )", "COUNTROWS ( VALUES ( {F}[Batch number] ) )"}},
	},
	tables: []dimension{product, warehouse, supplier, region, store, carrier, document, employee},
}

var ledgerTheme = theme{
	facts:    []string{"Ledger", "FactLedger", "GL entries", "fct_gl"},
	subjects: []string{"Finance", "Ledger", "Profit and loss", "Cost centres", "Budget", "Cash flow", "Receivables", "Month end"},
	core: []field{
		{name: "Posting date", kind: aDay}, {name: "Amount", kind: anAmount}, {name: "Entry count", kind: aCount},
		{name: "Budget amount", kind: anAmount}, {name: "Tax amount", kind: anAmount}, {name: "Document number", kind: aNumber},
	},
	metrics: []metric{
		{names: []string{"Actual", "Actuals", "Amount booked"}, says: "What was booked.", format: money, needs: 3, ways: sum("Amount", "Entry count")},
		{names: []string{"Entries", "Bookings", "# entries"}, says: "Bookings.", format: whole, needs: 3, ways: sum("Entry count", "Amount")},
		{names: []string{"Average booking", "Avg entry"}, says: "Amount of a booking.", format: money, needs: 3, ways: ratio("[{0}]", "[{1}]")},
		{names: []string{"Budget", "Plan", "Budgeted"}, says: "What was planned.", format: money, needs: 4, ways: sum("Budget amount", "Entry count")},
		{names: []string{"Variance", "Actual vs budget", "Deviation"}, says: "Actual above or below the budget.", format: money, needs: 4, ways: []string{
			"[{0}] - [{3}]", "SUM ( {F}[Amount] ) - SUM ( {F}[Budget amount] )", "SUMX ( {F}, {F}[Amount] - {F}[Budget amount] )",
		}},
		{names: []string{"Variance %", "Budget deviation %"}, says: "Variance as a share of the budget.", format: percent, needs: 4, ways: ratio("[{4}]", "[{3}]")},
		{names: []string{"Tax", "VAT"}, says: "Tax in the amounts.", format: money, needs: 5, ways: sum("Tax amount", "Entry count")},
		{names: []string{"Documents", "Number of documents"}, says: "Different documents.", format: whole, needs: 6, ways: []string{"DISTINCTCOUNT ( {F}[Document number] )", "COUNTROWS ( VALUES ( {F}[Document number] ) )"}},
	},
	tables: []dimension{account, costCentre, region, supplier, customer, project, document, employee},
}

var peopleTheme = theme{
	facts:    []string{"Headcount", "FactHeadcount", "Employment", "fct_hr"},
	subjects: []string{"People", "Headcount", "Absence", "Recruiting", "Payroll", "Training"},
	core: []field{
		{name: "Month end", kind: aDay}, {name: "Pay amount", kind: anAmount, says: "Personal where one person is shown"}, {name: "Head count", kind: aCount},
		{name: "Days off", kind: aCount}, {name: "Days trained", kind: aCount}, {name: "Contract number", kind: aNumber},
	},
	metrics: []metric{
		{names: []string{"Pay", "Salaries", "Personnel cost"}, says: "Pay without the employer's share.", format: money, needs: 3, ways: sum("Pay amount", "Head count")},
		{names: []string{"Heads", "Headcount", "Employees"}, says: "People employed.", format: whole, needs: 3, ways: sum("Head count", "Pay amount")},
		{names: []string{"Pay per head", "Average pay"}, says: "Pay for each person.", format: money, needs: 3, ways: ratio("[{0}]", "[{1}]")},
		{names: []string{"Absent days", "Absence days", "Days absent"}, says: "Days of absence.", format: whole, needs: 4, ways: sum("Days off", "Pay amount")},
		{names: []string{"Absence rate", "Absence %"}, says: "Days of absence for each person.", format: percent, needs: 4, ways: ratio("[{3}]", "[{1}]")},
		{names: []string{"Training days", "Days of training"}, says: "Days of training.", format: whole, needs: 5, ways: sum("Days trained", "Pay amount")},
		{names: []string{"Contracts", "Number of contracts"}, says: "Different contracts.", format: whole, needs: 6, ways: []string{"DISTINCTCOUNT ( {F}[Contract number] )", "COUNTROWS ( VALUES ( {F}[Contract number] ) )"}},
	},
	tables: []dimension{employee, department, region, costCentre, project, document},
}

var serviceTheme = theme{
	facts:    []string{"Tickets", "FactTicket", "Cases", "fct_ticket"},
	subjects: []string{"Service desk", "Tickets", "Complaints", "Call centre", "Service level", "Repairs"},
	core: []field{
		{name: "Opened", kind: aDay}, {name: "Cost amount", kind: anAmount}, {name: "Minutes spent", kind: aCount},
		{name: "Reopen count", kind: aCount}, {name: "Goodwill amount", kind: anAmount}, {name: "Ticket number", kind: aNumber},
	},
	metrics: []metric{
		{names: []string{"Handling cost", "Cost of service"}, says: "What the answers cost.", format: money, needs: 3, ways: sum("Cost amount", "Minutes spent")},
		{names: []string{"Minutes", "Handling time", "Minutes worked"}, says: "Minutes worked on tickets.", format: whole, needs: 3, ways: sum("Minutes spent", "Cost amount")},
		{names: []string{"Tickets", "Cases", "# tickets"}, says: "Tickets.", format: whole, needs: 3, ways: count("Cost amount")},
		{names: []string{"Minutes per ticket", "Average handling time", "AHT"}, says: "Minutes for each ticket.", format: money, needs: 3, ways: ratio("[{1}]", "[{2}]")},
		{names: []string{"Reopened", "Reopened tickets"}, says: "How often tickets were opened again.", format: whole, needs: 4, ways: sum("Reopen count", "Cost amount")},
		{names: []string{"Reopen rate", "Reopened %"}, says: "Reopened for each ticket.", format: percent, needs: 4, ways: ratio("[{4}]", "[{2}]")},
		{names: []string{"Goodwill", "Compensation"}, says: "What was given as goodwill.", format: money, needs: 5, ways: sum("Goodwill amount", "Minutes spent")},
	},
	tables: []dimension{customer, employee, product, channel, region, store, document},
}

var marketingTheme = theme{
	facts:    []string{"Campaign results", "FactCampaign", "Responses", "fct_campaign"},
	subjects: []string{"Campaigns", "Web traffic", "Newsletter", "Marketing funnel", "Leads", "Brand tracking"},
	core: []field{
		{name: "Day", kind: aDay}, {name: "Spend amount", kind: anAmount}, {name: "Click count", kind: aCount},
		{name: "View count", kind: aCount}, {name: "Lead count", kind: aCount}, {name: "Revenue", kind: anAmount}, {name: "Visit number", kind: aNumber},
	},
	metrics: []metric{
		{names: []string{"Spend", "Marketing spend", "Ad cost"}, says: "What campaigns cost.", format: money, needs: 3, ways: sum("Spend amount", "Click count")},
		{names: []string{"Clicks", "Number of clicks"}, says: "Clicks.", format: whole, needs: 3, ways: sum("Click count", "Spend amount")},
		{names: []string{"Cost per click", "CPC"}, says: "Spend for each click.", format: money, needs: 3, ways: ratio("[{0}]", "[{1}]")},
		{names: []string{"Views", "Impressions"}, says: "How often an advertisement was seen.", format: whole, needs: 4, ways: sum("View count", "Spend amount")},
		{names: []string{"Click rate", "CTR"}, says: "Clicks for each view.", format: percent, needs: 4, ways: ratio("[{1}]", "[{3}]")},
		{names: []string{"Leads", "New leads"}, says: "People who left an address.", format: whole, needs: 5, ways: sum("Lead count", "Spend amount")},
		{names: []string{"Campaign revenue", "Net sales", "Attributed revenue"}, says: "Sales that are put down to campaigns.", format: money, needs: 6, ways: sum("Revenue", "Click count")},
		{names: []string{"Return on spend", "ROAS"}, says: "Revenue for each unit of spend.", format: percent, needs: 6, ways: ratio("[{6}]", "[{0}]")},
	},
	tables: []dimension{campaign, channel, customer, region, product, document, employee},
}
