package pools

import "sync"

// The channels of functions that one would write by hand.
const (
	Channel        = "channel"
	ChannelRecover = "channel, recover"
	ChannelBlocks  = "channel, blocking"
)

// channel is a buffered channel of functions with goroutines behind it. A
// producer selects with a default, or waits in the send.
func channel(blocks bool, run func(func())) func(workers, queue int) Pool {
	return func(workers, queue int) Pool {
		tasks := make(chan func(), queue)
		var running sync.WaitGroup
		for range workers {
			running.Go(func() {
				for task := range tasks {
					run(task)
				}
			})
		}
		closing := func() { close(tasks); running.Wait() }
		if blocks {
			return blocking(plain, func(task func()) { tasks <- task }, closing)
		}
		return rejecting(plain, func(task func()) bool {
			select {
			case tasks <- task:
				return true
			default:
				return false
			}
		}, closing)
	}
}

func call(task func()) { task() }

// contain runs a task that may panic.
func contain(task func()) {
	defer func() { _ = recover() }()
	task()
}
