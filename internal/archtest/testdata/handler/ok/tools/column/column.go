package column

import "github.com/pbmb/pbmb/internal/archtest/testdata/handler/ok/tools/operation"

func List() *operation.Def {
	return operation.Operation[string, int]{
		Name:   "list",
		Handle: func(in string) (int, error) { return len(in), nil },
	}.Def()
}
