package column

import "github.com/pbmb/pbmb/internal/archtest/testdata/handler/broken/tools/operation"

func List() *operation.Def {
	return operation.Operation[string, int]{
		Name:   "list",
		Handle: func(in string) (int, error) { return len(in), nil },
	}.Def()
}

func Direct(o operation.Operation[string, int]) (int, error) {
	return o.Handle("x") // want "Direct is not the guard"
}
