//go:build unix

package edge

import (
	"syscall"
	"time"
)

// cpu is what this process has used of the processors: other than the time of
// day it does not depend on what else the machine does.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
