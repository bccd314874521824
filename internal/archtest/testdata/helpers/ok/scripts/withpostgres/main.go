package main

import _ "github.com/pbmb/pbmb/internal/archtest/testdata/helpers/ok/policies/cerbostest"

func main() {}
