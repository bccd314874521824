package growth

// The tables around the facts. The key comes of itself.
var (
	customer = dimension{"Customer", []field{
		{name: "Customer", kind: aPersonName, says: "Full name"}, {name: "Region", kind: aRegion}, {name: "Country", kind: aCountry}, {name: "Segment", kind: aClass},
		{name: "Email", kind: anEmail}, {name: "Phone", kind: aPhone}, {name: "Birth date", kind: aBirthday},
		{name: "Birth year", kind: aNumber, expr: "YEAR ( {T}[Birth date] )"}, {name: "Initial", kind: aText, expr: "LEFT ( {T}[Customer], 1 )"},
		{name: "City", kind: aCity}, {name: "Customer since", kind: aDay}, {name: "Newsletter", kind: aFlag}, {name: "Credit limit", kind: anAmount},
	}}
	product = dimension{"Product", []field{
		{name: "Product", kind: aThing}, {name: "Category", kind: aClass}, {name: "Colour", kind: aColour}, {name: "List price", kind: anAmount},
		{name: "Brand", kind: aText}, {name: "Size", kind: aClass}, {name: "Discontinued", kind: aFlag}, {name: "Weight", kind: aCount},
		{name: "Launched", kind: aDay}, {name: "Product and colour", kind: aText, expr: `{T}[Product] & " " & {T}[Colour]`}, {name: "Article number", kind: aNumber},
	}}
	region = dimension{"Region", []field{
		{name: "Region", kind: aRegion}, {name: "Country", kind: aCountry}, {name: "Area manager", kind: aPersonName}, {name: "Zone", kind: aClass}, {name: "Active", kind: aFlag},
	}}
	store = dimension{"Store", []field{
		{name: "Store", kind: aCity}, {name: "Store type", kind: aClass}, {name: "Country", kind: aCountry}, {name: "Floor area", kind: aCount},
		{name: "Opened on", kind: aDay}, {name: "Store manager", kind: aPersonName}, {name: "Manager email", kind: anEmail}, {name: "Status", kind: aState}, {name: "Rent", kind: anAmount},
	}}
	employee = dimension{"Employee", []field{
		{name: "Employee", kind: aPersonName, says: "Full name"}, {name: "Job title", kind: aText}, {name: "Department", kind: aClass}, {name: "Email", kind: anEmail},
		{name: "Birth date", kind: aBirthday}, {name: "Hired", kind: aDay}, {name: "Private phone", kind: aPhone}, {name: "Country", kind: aCountry},
		{name: "Bank account", kind: aNumber}, {name: "Salary", kind: anAmount}, {name: "Status", kind: aState}, {name: "Years employed", kind: aNumber, expr: "DATEDIFF ( {T}[Hired], DATE ( 2026, 12, 31 ), YEAR )"},
	}}
	channel    = dimension{"Channel", []field{{name: "Channel", kind: aText}, {name: "Online", kind: aFlag}, {name: "Partner", kind: aText}, {name: "Commission", kind: anAmount}}}
	supplier   = dimension{"Supplier", []field{{name: "Supplier", kind: aText}, {name: "Country", kind: aCountry}, {name: "Rating", kind: aClass}, {name: "Contact person", kind: aPersonName}, {name: "Contact email", kind: anEmail}, {name: "Lead time", kind: aCount}, {name: "Status", kind: aState}}}
	warehouse  = dimension{"Warehouse", []field{{name: "Warehouse", kind: aCity}, {name: "Region", kind: aRegion}, {name: "Capacity", kind: aCount}, {name: "Automated", kind: aFlag}, {name: "Opened on", kind: aDay}}}
	carrier    = dimension{"Carrier", []field{{name: "Carrier", kind: aText}, {name: "Mode", kind: aClass}, {name: "Contract until", kind: aDay}, {name: "Status", kind: aState}}}
	account    = dimension{"Account", []field{{name: "Account", kind: aText}, {name: "Account group", kind: aClass}, {name: "Account number", kind: aNumber}, {name: "Balance sheet", kind: aFlag}, {name: "Sign", kind: aCount}, {name: "Valid from", kind: aDay}}}
	costCentre = dimension{"Cost centre", []field{{name: "Cost centre", kind: aText}, {name: "Region", kind: aRegion}, {name: "Owner", kind: aPersonName}, {name: "Owner email", kind: anEmail}, {name: "Status", kind: aState}}}
	department = dimension{"Department", []field{{name: "Department", kind: aText}, {name: "Head", kind: aPersonName}, {name: "Region", kind: aRegion}, {name: "Seats", kind: aCount}}}
	project    = dimension{"Project", []field{{name: "Project", kind: aText}, {name: "Sponsor", kind: aPersonName}, {name: "Started", kind: aDay}, {name: "Ends", kind: aDay}, {name: "Status", kind: aState}, {name: "Approved budget", kind: anAmount}, {name: "Strategic", kind: aFlag}}}
	campaign   = dimension{"Campaign", []field{{name: "Campaign", kind: aText}, {name: "Started", kind: aDay}, {name: "Target group", kind: aClass}, {name: "Country", kind: aCountry}, {name: "Agreed budget", kind: anAmount}, {name: "Status", kind: aState}}}
	document   = dimension{"Document", []field{{name: "Document", kind: aText}, {name: "Document date", kind: aDay}, {name: "Author", kind: aPersonName}, {name: "Type", kind: aClass}, {name: "Status", kind: aState}, {name: "Archived", kind: aFlag}}}
)

// days is the table of days, which stands in no theme.
var days = []field{
	{name: "Date", kind: aDay}, {name: "Year", kind: aNumber, expr: "YEAR ( {T}[Date] )"}, {name: "Month number", kind: aNumber, expr: "MONTH ( {T}[Date] )"},
	{name: "Month", kind: aText, expr: `FORMAT ( {T}[Date], "MMMM" )`}, {name: "Quarter", kind: aText, expr: `"Q" & ROUNDUP ( MONTH ( {T}[Date] ) / 3, 0 )`},
	{name: "Year month", kind: aText, expr: `FORMAT ( {T}[Date], "yyyy-MM" )`},
}

// extras are columns that gather in a fact table over the years.
var extras = []field{
	{name: "Source system", kind: aText}, {name: "Currency", kind: aClass}, {name: "Line status", kind: aState}, {name: "Created by", kind: aPersonName},
	{name: "Loaded on", kind: aDay}, {name: "Checked", kind: aFlag}, {name: "Comment", kind: aText}, {name: "Exchange rate", kind: anAmount},
}

// leftovers are what copies of a table are called that nobody dares to remove.
var leftovers = []string{
	"2023", "2024", "2025", "staging", "archive", "raw", "old", "backup", "v2", "test",
	"2022", "2021", "2020", "import", "final", "final 2", "2019", "copy",
}
