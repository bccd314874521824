package tmdl_test

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/pbmb/pbmb/knowledge/tmdl"
)

// Every text is a model or an error, in time and without a panic.
func FuzzTMDL(f *testing.F) {
	for _, seed := range []string{
		"", "model Model\n", "table Sales\n\tcolumn Amount\n\t\tdataType: int64\n\tmeasure 'Net sales' = SUM ( Sales[Amount] )\n\t\tformatString: 0\n",
		"/// Doc\ntable 'a''b'\n\n\tmeasure m = ```\n\t\t\tVAR x = 1\n\t\t\tRETURN x\n\t\t\t```\n", "table T\n\tpartition T = calculated\n\t\tsource = {1}\n",
		"relationship r\n\tfromColumn: Sales.'Order Date'\n\ttoColumn: Calendar.Date\n\tisActive: false\n", "role R\n\tmodelPermission: read\n\ttablePermission T = [a] = 1\n",
		"table T\n\tcalculationGroup\n\t\tcalculationItem I = SELECTEDMEASURE()\n", "function F = ( a ) => a\n", "ref table T\n", "table T\n        column c\n", "createOrReplace\n\tmodel M\n",
		"table 'T\n", "table T\n\tmeasure m = ```\n", "table T\n\t\t\tcolumn c\n", "\ufefftable T\r\n\tcolumn c\r\n", "table T\n\tcolumn c\n\t\tvariation V\n\t\t\tdefaultHierarchy: L.'D H'\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := tmdl.LoadFS(fstest.MapFS{"model.tmdl": {Data: []byte(text)}}, ".")
		if (m == nil) == (err == nil) {
			t.Fatalf("%q: got %v and %v", text, m, err)
		}
	})
}

func FuzzBIM(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"model":{}}`, `{"model":{"tables":[{"name":"T","columns":[{"name":"c","type":"calculated","expression":["1","+ 2"]}],"measures":[{"name":"m","expression":"1"}]}]}}`,
		`{"createOrReplace":{"database":{"name":"D","model":{"roles":[{"name":"R","tablePermissions":[{"name":"T","filterExpression":"TRUE()"}]}]}}}}`, `{"model":{"tables":[null]}}`,
		`{"model":{"relationships":[{"name":"r","isActive":false}],"functions":[{"name":"F","expression":"() => 1"}]}}`, `{"create":null}`, "\ufeff{\"model\":{\"tables\":{}}}", "[",
		`{"model":{"tables":[{"calculationGroup":{"calculationItems":[{"ordinal":1}]},"partitions":[{"source":{"type":"calculated","expression":[]}}]}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := tmdl.ParseBIM(data)
		if (m == nil) == (err == nil) {
			t.Fatalf("%q: got %v and %v", data, m, err)
		}
		if err != nil && err.Error() == "" {
			t.Fatal(errors.New("an error without a text"))
		}
	})
}
