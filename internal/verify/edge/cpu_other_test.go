//go:build !unix

package edge

import "time"

var started = time.Now()

// cpu is the time of day, where a process cannot say what it has used.
func cpu() time.Duration { return time.Since(started) }
