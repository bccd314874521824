package cerbostest

import (
	_ "testing"
)
