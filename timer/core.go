package timer

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/internal/report"
	"github.com/cadre-go/cadre/timer/internal/schedule"
)

// core is what a Timer, its goroutine and its entries share.
type core struct {
	name    string
	log     report.Logger
	limit   int
	timeout time.Duration
	source  source

	wake   chan struct{} // holds a token if the goroutine has something to look at
	done   chan struct{}
	left   func()      // told after done; set before the timer is used
	begin  sync.Once   // the shutdown; when it is over every outcome is published
	closed atomic.Bool // written under mu

	// mu protects what follows. Nothing foreign is called, nothing settles
	// and nothing waits while it is held. It is taken after no other lock.
	mu         sync.Mutex
	queue      schedule.Set[job]
	aside      map[*ticks]struct{} // whose run is in progress, and that are not stopped
	armed      int64               // an entry due before this needs a kick
	goroutines []uint64            // their ids; 0 is one that has not begun yet
	leaving    bool                // closed, and failing is complete
	failing    []failure           // outcomes published, callbacks not yet run
	aborted    bool                // a goroutine beside the first one runs them
	syncs      []*syncWait
	looks      uint64 // counts the syncs
}

// job is an entry of the queue.
type job interface {
	schedule.Entry
	// popLocked is called when the job has been taken out as due. It
	// returns false if there is nothing to fire.
	popLocked(now int64) bool
	// fire is called then, on the timer's goroutine.
	fire(at time.Time)
	// closeLocked is called when the shutdown has taken the job out, and
	// finish, without the lock, after that; it returns what to call on a
	// goroutine of the timer's.
	closeLocked(now int64)
	finish() failure
}

func newCore(cfg Config) *core {
	c := &core{
		name:    cfg.Name,
		log:     report.Logger{To: cfg.Logger},
		limit:   cfg.Limit,
		timeout: cfg.ShutdownTimeout,
		source:  newSource(cfg.Clock),
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
		aside:   make(map[*ticks]struct{}),
		armed:   math.MinInt64,
	}
	if c.name == "" {
		c.name = "timer"
	}
	if c.timeout == 0 {
		c.timeout = defaultShutdownTimeout
	}
	return c
}

func (c *core) lenLocked() int { return c.queue.Len() + len(c.aside) }

// add puts a new job in, and starts the goroutine if there is none yet.
func (c *core) add(j job, deadline int64) error {
	c.mu.Lock()
	switch {
	case c.closed.Load():
		c.mu.Unlock()
		return c.error(ErrClosed)
	case c.limit > 0 && c.lenLocked() >= c.limit:
		c.mu.Unlock()
		return c.error(ErrLimit)
	}
	first := len(c.goroutines) == 0
	if first {
		c.goroutines = append(c.goroutines, 0)
	}
	c.pushLocked(j, deadline)
	c.mu.Unlock()
	if first {
		go c.life(&loop{core: c}, 0)
	}
	return nil
}

// pushLocked puts a job in. It kicks if that makes a new earliest deadline, and
// only if the goroutine is parked.
func (c *core) pushLocked(j job, deadline int64) {
	c.queue.Push(j, deadline)
	if deadline < c.armed {
		c.armed = deadline // the next one needs no other kick
		c.kickLocked()
	}
}

// kickLocked has the goroutine look again. The look that takes the token sees
// all that was done before under the same lock; a token sent after Unlock could
// outlive that look, and have the goroutine arm its alarm anew while a test,
// whose Sync has returned, takes it for parked.
func (c *core) kickLocked() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
