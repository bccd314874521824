package token

import (
	_ "time"
)
