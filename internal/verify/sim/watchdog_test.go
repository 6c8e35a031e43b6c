package sim

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// watchdog ends the process when a history does not come to rest: a bubble whose
// goroutines go on and on, or wait for a lock, cannot say so itself. A file says
// which history was playing, for those that end the process on their own.
type watchdog struct {
	seed    atomic.Uint64
	played  atomic.Uint64
	current *os.File // nil: nobody asks
}

func newWatchdog(t *testing.T) *watchdog {
	d := &watchdog{}
	if name := os.Getenv("SIM_PROGRESS"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		d.current = f
	}
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	go d.watch(stop)
	return d
}

func (d *watchdog) watch(stop <-chan struct{}) {
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	last := ^uint64(0)
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if n := d.played.Load(); n != last {
			last = n
			continue
		}
		fmt.Printf("FOUND seed %d after %d histories: it does not come to rest\n", d.seed.Load(), d.played.Load())
		_ = pprof.Lookup("goroutine").WriteTo(os.Stdout, 2)
		os.Exit(1)
	}
}

func (d *watchdog) playing(seed uint64) {
	d.seed.Store(seed)
	n := d.played.Add(1)
	if d.current != nil {
		line := strconv.FormatUint(seed, 10) + " " + strconv.FormatUint(n, 10) + "\n"
		_, _ = d.current.WriteAt([]byte(line), 0)
	}
}
