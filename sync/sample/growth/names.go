package growth

// What names are made of.
var (
	divisions = [Divisions]struct {
		name  string
		theme int // an index of themes
	}{
		{"Retail", sales}, {"Wholesale", sales}, {"Online", sales}, {"Logistics", stock}, {"Production", stock},
		{"Finance", ledger}, {"People", people}, {"Service", service}, {"Marketing", marketing}, {"Property", ledger},
	}
	regions = []string{"North", "South", "East", "West", "Central", "Coast", "Nordic", "Alpine", "Islands", "Overseas", "Capital", "Border"}
	topics  = []string{"Performance", "Planning", "Pricing", "Operations", "Projects", "Quality", "Forecast", "Compliance", "Benchmarks", "Archive"}

	firstNames = []string{
		"Alma", "Anton", "Beata", "Bruno", "Clara", "Conrad", "Dagny", "Dario", "Edda", "Emil", "Fenja", "Felix", "Greta", "Gustav",
		"Hanna", "Henrik", "Ines", "Ivo", "Jana", "Jonas", "Katla", "Kaspar", "Lena", "Leo", "Marta", "Milo", "Nadja", "Niklas",
		"Olga", "Oskar", "Paula", "Pavel", "Rosa", "Ruben", "Selma", "Simon", "Thea", "Tomas", "Ulla", "Viktor", "Wanda", "Yara",
	}
	lastNames = []string{
		"Abel", "Ahlberg", "Barros", "Birch", "Castell", "Corvin", "Dahl", "Dorn", "Eklund", "Elster", "Falke", "Fontaine", "Garde",
		"Grau", "Hallberg", "Horn", "Ivarsson", "Jansen", "Jordan", "Kessler", "Kranz", "Lang", "Lindholm", "Marek", "Moran", "Nagel",
		"Nordin", "Oster", "Palme", "Quist", "Rautio", "Roth", "Sander", "Stern", "Thorn", "Uhl", "Varga", "Weiss", "Yildiz", "Zeller",
	}
	titles = []string{"Analyst", "Controller", "Planner", "Buyer", "Team lead", "Product owner", "Specialist", "Clerk", "Engineer", "Area manager"}

	countries = []string{"France", "Canada", "United States", "Norway", "Sweden", "Austria", "Portugal", "Finland"}
	cities    = []string{"Lille", "Lyon", "Quebec", "Halifax", "Denver", "Austin", "Bergen", "Oslo", "Malmo", "Graz", "Porto", "Turku"}
	colours   = []string{"Red", "Blue", "Green", "Black", "White", "Sand", "Slate", "Amber"}
	states    = []string{"Open", "Closed", "Waiting", "Cancelled", "Done"}
	things    = []string{"Boot", "Tent", "Pack", "Lamp", "Stove", "Rope", "Jacket", "Bottle", "Map", "Glove"}
	classes   = []string{"A", "B", "C", "D"}

	labels = []string{"", "", "", "", "", "", "", "General", "Confidential", "Highly confidential"}
)
