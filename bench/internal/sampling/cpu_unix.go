//go:build unix

package sampling

import (
	"syscall"
	"time"
)

// processCPU returns the CPU time that this process has used, in user and
// kernel mode.
func processCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
