package dax

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// A FunctionKind says where a function of the language may stand.
type FunctionKind string

const (
	ScalarFunction  FunctionKind = "scalar"
	TableFunction   FunctionKind = "table"
	EitherFunction  FunctionKind = "scalar|table" // gives back what it is given
	FilterModifier  FunctionKind = "filter_modifier"
	GroupModifier   FunctionKind = "group_modifier"
	WindowSpec      FunctionKind = "window_spec"
	ReferenceResult FunctionKind = "reference"
	StatementWord   FunctionKind = "statement" // a word of DEFINE, listed with the functions
)

// Reads says what a function reads beyond what its arguments name.
type Reads string

const (
	ReadsArguments    Reads = ""
	ReadsMetadata     Reads = "metadata"     // the definition of the model
	ReadsEveryColumn  Reads = "every column" // values of columns that the text does not name
	ReadsDateColumns  Reads = "date columns" // the range of every date column
	ReadsStored       Reads = "stored"       // evaluates an expression that is stored in the model
	ReadsRemote       Reads = "remote"       // evaluates a measure of another model, named by a text
	ReadsWholeTable   Reads = "whole table"  // the table of the column or measure that is named
	ReadsVisual       Reads = "visual"       // the matrix of a visual; works only in WITH VISUAL SHAPE
	ReadsIdentity     Reads = "identity"     // who asks
	ReadsUndocumented Reads = "undocumented" // nobody says
	ReadsMParameter   Reads = "m parameter"  // sets a parameter of the queries that load the data
)

// A Function is a built-in function.
//
// Args has a letter for each argument, in their order: t a table, c a column, s a
// scalar, x any of these, o any of these or a bare word, r an expression in the row
// context of the table or column before it, f a filter of CALCULATE, n the name of a
// new column, w a bare word, m a measure. What stands in ( … )* or before * may
// repeat. A capital letter means that the result can hold values of this argument;
// for functions that give tables, the rules are those of [Resolve].
type Function struct {
	Name  string
	Kind  FunctionKind
	Args  string
	Reads Reads
}

// LookupFunction finds a built-in function by its name, however it is written.
func LookupFunction(name string) (*Function, bool) {
	f, ok := functionTable[knowledge.Fold(name)]
	return f, ok
}

// Functions are all built-in functions, by name.
func Functions() iter.Seq[*Function] {
	return func(yield func(*Function) bool) {
		for _, key := range slices.Sorted(maps.Keys(functionTable)) {
			if !yield(functionTable[key]) {
				return
			}
		}
	}
}

// arg is the letter of argument i, in upper case if the result can hold its
// values; 0 where the function takes no such argument.
func (f *Function) arg(i int) byte {
	sig := f.Args
	head, group := sig, ""
	if open := strings.IndexByte(sig, '('); open >= 0 {
		head, group = sig[:open], sig[open+1:strings.IndexByte(sig, ')')]
	} else if before, ok := strings.CutSuffix(sig, "*"); ok {
		head, group = before[:len(before)-1], before[len(before)-1:]
	}
	if i < len(head) {
		return head[i]
	}
	if group == "" {
		return 0
	}
	return group[(i-len(head))%len(group)]
}

var functionTable = parseFunctions(functionList)

// parseFunctions reads lines of kind, arguments (- for none), what is read (-
// for the arguments only), and names.
func parseFunctions(list string) map[string]*Function {
	table := map[string]*Function{}
	kind, args, reads := "", "", ""
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if head, names, ok := strings.Cut(line, ":"); ok {
			h := strings.Split(strings.TrimSpace(head), "  ")
			kind, args, reads = h[0], strings.Trim(h[1], "-"), ""
			if len(h) > 2 {
				reads = h[2]
			}
			fields = strings.Fields(names)
		}
		for _, name := range fields {
			key := knowledge.Fold(name)
			if table[key] != nil {
				panic("dax: function " + name + " is listed twice")
			}
			table[key] = &Function{Name: name, Kind: FunctionKind(kind), Args: args, Reads: Reads(reads)}
		}
	}
	return table
}

// functionList groups the functions whose arguments are alike.
const functionList = `
scalar  S*: ABS ACCRINT ACCRINTM ACOS ACOSH ACOT ACOTH AMORDEGRC AMORLINC ASIN ASINH ATAN ATANH
	BETA.DIST BETA.INV BITAND BITLSHIFT BITOR BITRSHIFT BITXOR BLANK CEILING CHISQ.DIST CHISQ.DIST.RT
	CHISQ.INV CHISQ.INV.RT COALESCE COMBIN COMBINA COMBINEVALUES CONCATENATE CONFIDENCE.NORM CONFIDENCE.T
	COS COSH COT COTH COUPDAYBS COUPDAYS COUPDAYSNC COUPNCD COUPNUM COUPPCD CUMIPMT CUMPRINC CURRENCY
	DATE DATEVALUE DAY DB DDB DEGREES DISC DIVIDE DOLLARDE DOLLARFR DURATION EDATE EFFECT EOMONTH ERROR
	EVEN EXP EXPON.DIST FACT FALSE FIXED FLOOR FORMAT FV GCD HOUR IFERROR INT INTRATE IPMT ISO.CEILING
	ISPMT LCM LEFT LN LOG LOG10 LOWER MAX MAXA MDURATION MID MIN MINA MINUTE MOD MONTH MROUND NETWORKDAYS
	NOMINAL NORM.DIST NORM.INV NORM.S.DIST NORM.S.INV NOW NPER ODD ODDFPRICE ODDFYIELD ODDLPRICE ODDLYIELD
	PDURATION PERMUT PI PMT POISSON.DIST POWER PPMT PRICE PRICEDISC PRICEMAT PV QUARTER QUOTIENT RADIANS
	RAND RANDBETWEEN RATE RECEIVED REPLACE REPT RIGHT ROUND ROUNDDOWN ROUNDUP RRI SECOND SIN SINH SLN SQRT
	SQRTPI SUBSTITUTE SYD T.DIST T.DIST.2T T.DIST.RT T.INV T.INV.2T TAN TANH TBILLEQ TBILLPRICE TBILLYIELD
	TIME TIMEVALUE TODAY TRIM TRUE TRUNC UNICHAR UNICODE UPPER UTCNOW UTCTODAY VALUE VDB WEEKDAY WEEKNUM
	YEAR YEARFRAC YIELD YIELDDISC YIELDMAT
scalar  s*: AND CONTAINSSTRING CONTAINSSTRINGEXACT EXACT FIND ISBLANK ISBOOLEAN ISCURRENCY ISDATETIME
	ISDECIMAL ISDOUBLE ISERROR ISEVEN ISINT64 ISINTEGER ISLOGICAL ISNONTEXT ISNUMBER ISNUMERIC ISODD
	ISSTRING ISTEXT KEYWORDMATCH LEN NOT OR PATHCONTAINS PATHLENGTH SEARCH SIGN
scalar  (ssw)*: ISAFTER ISONORAFTER
scalar  SSw: DATEDIFF
scalar  Sw: CONVERT
scalar  sSS: IF IF.EAGER
scalar  s(SS)*: SWITCH
scalar  Ssw: PATHITEM PATHITEMREVERSE
scalar  CC: PATH
scalar  c: APPROXIMATEDISTINCTCOUNT AVERAGE AVERAGEA COUNT COUNTA COUNTBLANK DISTINCTCOUNT
	DISTINCTCOUNTNOBLANK GEOMEAN HASONEFILTER HASONEVALUE ISINSCOPE ISSUBTOTAL PRODUCT STDEV.P STDEV.S SUM
	VAR.P VAR.S
scalar  C: MEDIAN EARLIEST RELATED
scalar  Cs: EARLIER PERCENTILE.EXC PERCENTILE.INC
scalar  CS: SELECTEDVALUE
scalar  C(CS)*: LOOKUPVALUE
scalar  cR: FIRSTNONBLANKVALUE LASTNONBLANKVALUE
scalar  x*: ISCROSSFILTERED ISFILTERED
scalar  o*: RANK ROWNUMBER
scalar  scw: RANK.EQ
scalar  t: COUNTROWS ISEMPTY
scalar  t(cs)*: CONTAINS
scalar  ts*: CONTAINSROW
scalar  tr: AVERAGEX COUNTAX COUNTX GEOMEANX PRODUCTX STDEVX.P STDEVX.S SUMX VARX.P VARX.S
scalar  tR: MEDIANX
scalar  tRs: MAXX MINX PERCENTILEX.EXC PERCENTILEX.INC
scalar  tRS(rw)*: CONCATENATEX
scalar  trsww: RANKX
scalar  trrss: XIRR
scalar  trrs: XNPV
scalar  Sf*: CALCULATE
scalar  Sxfs: CLOSINGBALANCEMONTH CLOSINGBALANCEQUARTER CLOSINGBALANCEWEEK CLOSINGBALANCEYEAR
	OPENINGBALANCEMONTH OPENINGBALANCEQUARTER OPENINGBALANCEWEEK OPENINGBALANCEYEAR TOTALMTD TOTALQTD
	TOTALWTD TOTALYTD
scalar  xww: NAMEOF
scalar  Tsss: TOCSV
scalar  Ts: TOJSON
scalar  m*: ISSELECTEDMEASURE
scalar  -: SELECTEDMEASURE SELECTEDMEASUREFORMATSTRING SELECTEDMEASURENAME
scalar  -  identity: CUSTOMDATA USERCULTURE USERNAME USEROBJECTID USERPRINCIPALNAME
scalar  sws  remote: EXTERNALMEASURE
scalar  O*  visual: COLLAPSE COLLAPSEALL EXPAND EXPANDALL FIRST ISATLEVEL LAST LOOKUP LOOKUPWITHTOTALS
	MOVINGAVERAGE NEXT PREVIOUS RUNNINGSUM
scalar|table  Xss: EVALUATEANDLOG

table  t(nr)*: ADDCOLUMNS SELECTCOLUMNS
table  xswww: DATEADD
table  xssww: DATESINPERIOD
table  xsw: PARALLELPERIOD
table  o*: INDEX OFFSET WINDOW
table  x*: ADDMISSINGITEMS ALL ALLNOBLANKROW ALLSELECTED DATATABLE DATESBETWEEN
	DATESMTD DATESQTD DATESWTD DATESYTD DISTINCT ENDOFMONTH ENDOFQUARTER ENDOFWEEK ENDOFYEAR FIRSTDATE
	LASTDATE LINEST NEXTDAY NEXTMONTH NEXTQUARTER NEXTWEEK NEXTYEAR
	PREVIOUSDAY PREVIOUSMONTH PREVIOUSQUARTER PREVIOUSWEEK PREVIOUSYEAR SAMEPERIODLASTYEAR STARTOFMONTH
	STARTOFQUARTER STARTOFWEEK STARTOFYEAR SUMMARIZECOLUMNS VALUES
table  o*  undocumented: FILTERCLUSTER GROUPCROSSAPPLY GROUPCROSSAPPLYTABLE KMEANSCLUSTERING TOPNPERLEVEL
table  o*  visual: RANGE
table  t: ALLCROSSFILTERED RELATEDTABLE
table  tc*: ALLEXCEPT DEPENDON TREATAS
table  tf*: CALCULATETABLE
table  ss: CALENDAR
table  s  date columns: CALENDARAUTO
table  -  every column: COLUMNSTATISTICS
table  t*: CROSSJOIN EXCEPT INTERSECT NATURALINNERJOIN NATURALLEFTOUTERJOIN UNION
table  -: CURRENTGROUP
table  m  stored: DETAILROWS
table  tr: FILTER GENERATE GENERATEALL
table  c: FILTERS
table  cr: FIRSTNONBLANK LASTNONBLANK
table  sss: GENERATESERIES
table  t(rr)*: GROUPBY SUMMARIZE
table  tr*: LINESTX
table  (ns)*: ROW
table  st(rw)*: SAMPLE TOPN
table  sst(rw)*: TOPNSKIP
table  str*: SAMPLEAXISWITHLOCALMINMAX SAMPLECARTESIANPOINTSBYCOVER
table  tnt(rw)*: SUBSTITUTEWITHINDEX
table  x*  metadata: INFO.ALTERNATEOFDEFINITIONS INFO.ANNOTATIONS INFO.ATTRIBUTEHIERARCHIES
	INFO.ATTRIBUTEHIERARCHYSTORAGES INFO.CALCDEPENDENCY INFO.CALCULATIONGROUPS INFO.CALCULATIONITEMS
	INFO.CALENDARCOLUMNGROUPS INFO.CALENDARCOLUMNREFERENCES INFO.CALENDARS INFO.CATALOGS
	INFO.CHANGEDPROPERTIES INFO.COLUMNPARTITIONSTORAGES INFO.COLUMNPERMISSIONS INFO.COLUMNS
	INFO.COLUMNSTORAGES INFO.CSDLMETADATA INFO.CULTURES INFO.DATACOVERAGEDEFINITIONS INFO.DATASOURCES
	INFO.DELTATABLEMETADATASTORAGES INFO.DEPENDENCIES INFO.DETAILROWSDEFINITIONS INFO.DICTIONARYSTORAGES
	INFO.EXCLUDEDARTIFACTS INFO.EXPRESSIONS INFO.EXTENDEDPROPERTIES INFO.FORMATSTRINGDEFINITIONS
	INFO.FUNCTIONS INFO.GENERALSEGMENTMAPSEGMENTMETADATASTORAGES INFO.GROUPBYCOLUMNS INFO.HIERARCHIES
	INFO.HIERARCHYSTORAGES INFO.KPIS INFO.LEVELS INFO.LINGUISTICMETADATA INFO.MEASURES INFO.MODEL
	INFO.OBJECTTRANSLATIONS INFO.PARQUETFILESTORAGES INFO.PARTITIONS INFO.PARTITIONSTORAGES
	INFO.PERSPECTIVECOLUMNS INFO.PERSPECTIVEHIERARCHIES INFO.PERSPECTIVEMEASURES INFO.PERSPECTIVES
	INFO.PERSPECTIVETABLES INFO.PROPERTIES INFO.QUERYGROUPS INFO.REFRESHPOLICIES INFO.RELATEDCOLUMNDETAILS
	INFO.RELATIONSHIPINDEXSTORAGES INFO.RELATIONSHIPS INFO.RELATIONSHIPSTORAGES INFO.ROLEMEMBERSHIPS
	INFO.ROLES INFO.SEGMENTMAPSTORAGES INFO.SEGMENTSTORAGES INFO.STORAGEFILES INFO.STORAGEFOLDERS
	INFO.STORAGETABLECOLUMNS INFO.STORAGETABLECOLUMNSEGMENTS INFO.STORAGETABLES INFO.TABLEPERMISSIONS
	INFO.TABLES INFO.TABLESTORAGES INFO.USERDEFINEDFUNCTIONS INFO.VARIATIONS INFO.VIEW.COLUMNS
	INFO.VIEW.MEASURES INFO.VIEW.RELATIONSHIPS INFO.VIEW.TABLES

filter_modifier  tc*: ALLSELECTEDAPPLY ALLSELECTEDREMOVE ALWAYSAPPLY NONFILTER SHADOWCLUSTER
filter_modifier  f: KEEPFILTERS NONVISUAL
filter_modifier  x*: REMOVEFILTERS
filter_modifier  ccw: CROSSFILTER
filter_modifier  cc: USERELATIONSHIP
group_modifier  c*: ROLLUP ROLLUPGROUP
group_modifier  x*: ROLLUPADDISSUBTOTAL ROLLUPISSUBTOTAL
group_modifier  s: IGNORE
window_spec  c*: MATCHBY PARTITIONBY
window_spec  (rw)*: ORDERBY
reference  x  whole table: TABLEOF
statement  -  m parameter: MPARAMETER
`
