package vault

import (
	_ "filippo.io/age"
)
