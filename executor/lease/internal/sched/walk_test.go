package sched_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// move is one step of somebody in a world.
type move struct {
	name string
	arg  int
	do   func(w *world) bool
}

func (m move) String() string { return fmt.Sprintf("%s(%d)", m.name, m.arg) }

// moves lists all that may ever happen in worlds of cfg.
func moves(cfg config) (out []move) {
	out = []move{
		{"owner", 0, (*world).step}, {"crash", 0, (*world).crash}, {"hint", 0, (*world).hint},
		{"close", 0, (*world).close}, {"fail", 0, (*world).fail},
	}
	if cfg.only != "" {
		defer func() {
			out = slices.DeleteFunc(out, func(m move) bool { return !strings.Contains(cfg.only, m.name) })
		}()
	}
	each := func(n int, name string, do func(w *world, i int) bool) {
		for i := range n {
			out = append(out, move{name, i, func(w *world) bool { return do(w, i) }})
		}
	}
	each(cfg.callers, "enter", func(w *world, i int) bool {
		// Callers of one handle are alike: they come in one order.
		for j := i - cfg.handles; j >= 0; j -= cfg.handles {
			if w.callers[j].state == outside {
				return false
			}
		}
		return w.enter(i)
	})
	each(cfg.callers, "push", (*world).push)
	each(cfg.callers, "cancel", (*world).cancel)
	each(cfg.callers, "release", (*world).release)
	each(cfg.handles, "bar", (*world).bar)
	each(cfg.handles, "leave", (*world).leave)
	return out
}

// walk visits every state that any order of moves can reach, and returns how
// many there are. It stops at the first bad one and tells the way to it.
func walk(t *testing.T, cfg config) int {
	t.Helper()
	type node struct {
		w    *world
		path *path
	}
	all := moves(cfg)
	start := newWorld(cfg)
	visited := map[string]struct{}{start.encode(): {}}
	stack := []node{{w: start}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if err := at.w.check(); err != nil {
			t.Fatalf("%v\n%v\nafter %v", cfg, err, at.path)
		}
		next := at.w.clone()
		for _, m := range all {
			if !m.do(next) {
				continue
			}
			if key := next.encode(); key != "" {
				if _, seen := visited[key]; !seen || len(next.wrong) > 0 {
					visited[key] = struct{}{}
					stack = append(stack, node{next, &path{m, at.path}})
				}
			}
			next = at.w.clone()
		}
	}
	return len(visited)
}

// path is how a state was reached, last move first.
type path struct {
	move move
	prev *path
}

func (p *path) String() string {
	if p == nil {
		return "the start"
	}
	var list []string
	for ; p != nil; p = p.prev {
		list = append(list, p.move.String())
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return strings.Join(list, " ")
}

// The moves of a world in which the pool neither ends nor is a handle closed,
// and those that come on top.
const (
	common = "owner enter push cancel release "
	bars   = "bar leave "
	ends   = "close fail crash "
)

// TestWalk walks the small worlds. A number of states that differs from the one
// recorded means that the walk, or the design, has lost or gained a move.
func TestWalk(t *testing.T) {
	for _, c := range []struct {
		name string
		want int
		cfg  config
	}{
		{"LEASE-74 the smallest world", 20, // derived by hand in docs/lease.md
			config{capacity: 1, limit: 1, callers: 1, handles: 1, only: "owner enter push release"}},
		{"LEASE-74 one caller", 31, config{capacity: 1, limit: 1, callers: 1, handles: 1, only: common}},
		{"LEASE-74 everything about one caller", 3987,
			config{capacity: 1, limit: 1, callers: 1, handles: 1, hints: 1}},
		{"LEASE-74 everything about one caller with the fast path", 1047,
			config{capacity: 1, limit: 1, callers: 1, handles: 1, hints: 1, fast: true}},
		{"LEASE-74 release against acquire", 560, config{capacity: 1, limit: 1, callers: 2, handles: 2, hints: 1, fast: true, only: common + "hint"}},
		{"LEASE-74 release against close", 6748, config{capacity: 1, limit: 2, callers: 3, handles: 2, fast: true, only: common + "close"}},
		{"LEASE-74 acquire against the owner's end", 3170, config{capacity: 1, limit: 1, callers: 2, handles: 1, only: common + ends}},
		{"LEASE-74 cancel against commit", 2954, config{capacity: 2, limit: 2, callers: 3, handles: 2, only: common}},
		{"LEASE-74 handle close against acquire", 7804, config{capacity: 1, limit: 1, callers: 2, handles: 2, only: common + bars}},
		{"LEASE-74 first come first served", 2678, config{capacity: 1, limit: 3, callers: 3, handles: 2, policy: sched.FIFO, fast: true, only: common}},
		{"LEASE-74 no queue at all", 711, config{capacity: 1, limit: 0, callers: 2, handles: 1, fast: true, only: common + ends}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := walk(t, c.cfg)
			t.Logf("%v: %d states", c.cfg, n)
			require.Equal(t, c.want, n)
		})
	}
}

// floor is how many states the whole walk has to visit at least.
const floor = 9_284_580

// TestExhaustive walks all sizes: up to two callers with every move there is,
// three with the closing of handles or all ways to end, four with a close or a
// crash. It takes some minutes, and walks nothing unless CADRE_EXHAUSTIVE is
// set; TestWalk is its slice for every pass.
func TestExhaustive(t *testing.T) {
	if os.Getenv("CADRE_EXHAUSTIVE") == "" {
		return
	}
	t.Run("LEASE-74 the whole walk", func(t *testing.T) {
		total := 0
		for cfg := range sizes {
			n := walk(t, cfg)
			t.Logf("%v %q: %d states", cfg, cfg.only, n)
			total += n
		}
		t.Logf("%d states", total)
		require.GreaterOrEqual(t, total, floor)
	})
}

// sizes yields the worlds of the whole walk.
func sizes(yield func(config) bool) {
	for _, policy := range []sched.Policy{sched.RoundRobin, sched.FIFO} {
		for _, fast := range []bool{true, false} {
			for _, capacity := range []int{1, 2, 4} {
				for handles := 1; handles <= 3; handles++ {
					for callers := handles; callers <= 4; callers++ {
						cfg := config{capacity: capacity, limit: 2, callers: callers, handles: handles, policy: policy, fast: fast, hints: 1}
						beside := []string{""}
						if callers > 2 {
							cfg.hints = 0
							beside = []string{common + bars, common + ends}
						}
						if callers == 4 {
							beside = []string{common, common + "close", common + "crash"}
						}
						for _, cfg.only = range beside {
							if !yield(cfg) {
								return
							}
						}
					}
				}
			}
		}
	}
}
