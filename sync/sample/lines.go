package sample

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"time"

	"github.com/pbmb/pbmb/testdata/company"
)

// How large the dimensions of the company's files are.
const (
	customerCount = 1200
	productCount  = 120
	shopCount     = 18 // stores 1 to 18 are shops and outlets, 19 to 22 online
	storeCount    = 22
)

// prices reads list price and unit cost of the products, in cents, by key.
func prices() (list, cost [productCount + 1]int) {
	f, err := company.Files.Open("commercial/sales/data/Product.csv")
	if err != nil {
		panic(fmt.Sprintf("the company's files are embedded: %v", err))
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("the company's files are checked by the tests: %v", err))
	}
	for _, r := range records[1:] {
		key := int(number(r[0]))
		list[key], cost[key] = inCents(r[7]), inCents(r[8])
	}
	return list, cost
}

func inCents(text string) int { return int(number(text)*100 + .5) }

func number(text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("the company's files are checked by the tests: %v", err))
	}
	return f
}

// season weighs a day: growth from year to year, a summer and a Christmas peak,
// quiet Sundays.
func season(d time.Time) int {
	months := [...]int{70, 72, 90, 105, 120, 138, 140, 125, 100, 88, 104, 150}
	weight := months[d.Month()-1] * (100 + 9*(d.Year()-firstDay.Year()))
	switch d.Weekday() {
	case time.Saturday:
		weight = weight * 3 / 2
	case time.Sunday:
		weight = weight / 2
	}
	return weight // about 10,000
}

// salesLines are the order lines of the dataset Sales: about 34 orders a day.
func salesLines(f *filler) {
	list, cost := prices()
	order := 100_000
	for d := firstDay; !d.After(lastDay); d = d.AddDate(0, 0, 1) {
		orders := season(d)*34/10_000 + f.IntN(7) - 3
		for range orders {
			order++
			customer := 1 + f.IntN(customerCount)
			if f.IntN(3) == 0 { // a fifth of the customers buys more often
				customer = 1 + f.IntN(customerCount/5)
			}
			store := 1 + f.IntN(shopCount)
			if f.IntN(100) < 22+4*(d.Year()-firstDay.Year()) { // online grows
				store = shopCount + 1 + f.IntN(storeCount-shopCount)
			}
			promotion := promotionOn(f, d)
			shipped := d.AddDate(0, 0, f.pick(30, 30, 20, 10, 6, 4))
			for line := range 1 + f.pick(30, 30, 20, 12, 8) {
				product := 1 + (f.IntN(productCount)+f.IntN(productCount))/2
				quantity := 1 + f.pick(70, 18, 7, 5)
				gross := list[product] * quantity
				discount := gross * promotionRate[promotion] / 100
				f.int("Order number", order)
				f.int("Line number", line+1)
				f.day("Order date", d)
				if shipped.After(lastDay) {
					f.blank("Ship date")
				} else {
					f.day("Ship date", shipped)
				}
				f.int("CustomerKey", customer)
				f.int("ProductKey", product)
				f.int("StoreKey", store)
				f.int("PromotionKey", promotion)
				f.int("Quantity", quantity)
				f.cents("Unit cost", cost[product])
				f.cents("Gross amount", gross)
				f.cents("Discount amount", discount)
				f.cents("Net amount", gross-discount)
			}
		}
	}
}

// promotionRate is the discount of each promotion in percent, by key.
var promotionRate = [...]int{0, 0, 15, 10, 8, 25, 5, 12, 18}

func promotionOn(f *filler, d time.Time) int {
	switch m := d.Month(); {
	case f.IntN(100) < 60:
		return 1
	case m == time.March || m == time.April:
		return 2
	case m == time.July:
		return 3
	case m == time.December:
		return 7
	}
	return [...]int{4, 5, 6, 8}[f.pick(40, 20, 20, 20)]
}

// regionalLines are the order lines of the dataset Regional sales.
func regionalLines(f *filler) {
	list, _ := prices()
	for d := firstDay; !d.After(lastDay); d = d.AddDate(0, 0, 1) {
		for range season(d)*12/10_000 + f.IntN(3) {
			product := 1 + f.IntN(40)
			quantity := 1 + f.pick(70, 18, 7, 5)
			shipped := d.AddDate(0, 0, f.pick(30, 30, 20, 10, 6, 4))
			if shipped.After(lastDay) {
				shipped = lastDay
			}
			f.day("Order date", d)
			f.day("Ship date", shipped)
			f.int("RegionKey", 1+f.pick(20, 16, 18, 22, 9, 14, 11))
			f.int("ProductKey", product)
			f.int("Quantity", quantity)
			f.cents("Net amount", list[product]*quantity*f.between(80, 101)/100)
		}
	}
}

// webOrders are the orders of the web shop.
func webOrders(f *filler) {
	countries := [...]string{"France", "Canada", "United States", "Norway"}
	order := 900_000
	for d := firstDay; !d.After(lastDay); d = d.AddDate(0, 0, 1) {
		for range season(d)*9/10_000 + f.IntN(4) {
			order++
			net := f.between(1500, 32_000)
			refund := 0
			if f.IntN(12) == 0 {
				refund = net * f.between(20, 101) / 100
			}
			f.int("Order number", order)
			f.day("Order date", d)
			f.int("CampaignKey", 1+f.pick(40, 12, 10, 25, 8, 5))
			f.text("Country", countries[f.pick(35, 25, 30, 10)])
			f.text("Type", [...]string{"External", "Internal"}[f.pick(19, 1)])
			f.int("Quantity", 1+f.pick(60, 25, 15))
			f.cents("Net amount", net)
			f.cents("Shipping", [...]int{0, 490, 990}[f.pick(30, 60, 10)])
			f.cents("Refund", refund)
		}
	}
}

// webVisits are the visits of the web shop by day, campaign and device.
func webVisits(f *filler) {
	for d := firstDay; !d.After(lastDay); d = d.AddDate(0, 0, 1) {
		for campaign := 1; campaign <= 6; campaign++ {
			for _, device := range [...]string{"Phone", "Desktop", "Tablet"} {
				visits := season(d)/700 + f.IntN(12)
				f.day("Date", d)
				f.int("CampaignKey", campaign)
				f.text("Device", device)
				f.int("Visits", visits)
				f.int("Bounces", visits*f.between(30, 70)/100)
				f.int("Baskets", visits*f.between(5, 20)/100)
			}
		}
	}
}

// stockCounts are the counts at the end of each month. The last four products
// are no longer in the list of products of that dataset.
func stockCounts(f *filler) {
	_, cost := prices()
	for d := firstDay.AddDate(0, 1, -1); !d.After(lastDay); d = d.AddDate(0, 0, 1).AddDate(0, 1, -1) {
		for product := 1; product <= productCount; product++ {
			for warehouse := 1; warehouse <= 4; warehouse++ {
				units := f.between(0, 140)
				if f.IntN(20) == 0 {
					units = 0
				}
				f.day("Month end", d)
				f.int("ProductKey", product)
				f.int("WarehouseKey", warehouse)
				f.int("Units on hand", units)
				f.int("Units on order", f.pick(3, 1)*f.between(10, 90))
				f.cents("Value", units*cost[product])
			}
		}
	}
}

// ledgerEntries are bookings and plan by month, account and cost centre.
func ledgerEntries(f *filler) {
	size := map[int]int{4010: 640_000, 4020: 22_000, 4030: 15_000, 4040: 300_000, 4050: 28_000, 4060: 9_000, 4070: 120_000,
		4080: 34_000, 4090: 4_000, 4100: 41_000, 4110: 12_000, 4120: 8_000, 4130: 6_000, 4140: 25_000, 4150: 14_000, 4160: 5_000, 4170: 3_000}
	for d := firstDay; !d.After(lastDay); d = d.AddDate(0, 1, 0) {
		for account := 4010; account <= 4170; account += 10 {
			for centre := 1; centre <= 8; centre++ {
				plan := size[account] * season(d) / 10_000 * 100 / 8 // in cents
				f.entry(d, account, centre, "Budget", plan, "Plan")
				for booking := range 3 {
					f.entry(d.AddDate(0, 0, 5+9*booking), account, centre, "Actual", plan/3*f.between(85, 118)/100, "Booking")
				}
			}
		}
	}
}

func (f *filler) entry(d time.Time, account, centre int, scenario string, cents int, text string) {
	f.day("Date", d)
	f.int("AccountKey", account)
	f.int("CostCentreKey", centre)
	f.text("Scenario", scenario)
	f.cents("Amount", cents)
	f.text("Text", text)
}

// boardFigures are the monthly figures by country.
func boardFigures(f *filler) {
	for d := firstDay; !d.After(lastDay); d = d.AddDate(0, 1, 0) {
		for i, country := range [...]string{"France", "Canada", "United States", "Norway"} {
			net := season(d) * f.between(1900, 2200) * (5 - i) // in cents
			f.day("Month", d)
			f.text("Country", country)
			f.cents("Net", net)
			f.cents("Cost", net*f.between(48, 54)/100)
			f.int("Orders placed", net/13_500)
			f.int("Staff", 20+6*(4-i))
		}
	}
}
