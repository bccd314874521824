package process

import "syscall"

func attributes(onParentDeath syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: onParentDeath}
}
