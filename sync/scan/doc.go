// Package scan reads a tenant through Power BI's admin scanner and hands what it
// finds to the mirror. What Power BI says that must not be kept (expressions of
// Power Query, sources, parameters) has no field in package powerbi, so it is
// gone before anything here sees it. When scans run is package worker's part.
package scan
