//go:build !linux

package process

import "syscall"

// Only Linux tells a child that its parent died.
func attributes(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
