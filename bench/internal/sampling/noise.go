package sampling

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// tick is the unit in which the kernel counts.
const tick = 10 * time.Millisecond

// machineCPU returns the CPU time that all cores together have spent on
// anything, steal by other guests included, or 0 where /proc/stat is not found.
func machineCPU() time.Duration {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	fields := bytes.Fields(line)
	var ticks int64
	for i, field := range fields {
		// cpu user nice system idle iowait irq softirq steal; guest time, which
		// follows, is part of user.
		if i == 0 || i == 4 || i == 5 || i > 8 {
			continue
		}
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * tick
}
