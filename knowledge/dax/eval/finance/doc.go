// Package finance computes what the financial functions of DAX give, which are
// those of spreadsheets: annuities, depreciation, bonds with their coupons,
// discounted securities, treasury bills and irregular cash flows. It knows
// numbers and days, no DAX; package eval reads arguments and makes errors.
//
// Every function gives NaN where its arguments allow no answer. Rates are per
// period or per year as the function says, 0.05 for 5%. A price is for 100 of
// face value.
package finance
