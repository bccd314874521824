package operation
