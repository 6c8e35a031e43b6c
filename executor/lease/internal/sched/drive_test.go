package sched_test

import (
	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// driver takes the steps of a world one after the other, checks it after each,
// and keeps the order in which permits were granted.
type driver struct {
	*world
	t      tester
	grants []int
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	require.TestingT
	Helper()
}

func drive(t tester, cfg config) *driver { return &driver{world: newWorld(cfg), t: t} }

func (d *driver) must(done bool) {
	d.t.Helper()
	require.True(d.t, done, "this is not possible now")
	require.NoError(d.t, d.check())
}

// step is one step of the owner.
func (d *driver) step() bool {
	d.t.Helper()
	c := d.granting()
	done := d.world.step()
	if c >= 0 && d.callers[c].state == held {
		d.grants = append(d.grants, c)
	}
	require.NoError(d.t, d.check())
	return done
}

// granting returns the caller that the owner is about to commit to, or -1.
func (d *driver) granting() int {
	if d.busy && d.effect.Kind == sched.Grant {
		return d.index(d.effect.Waiter)
	}
	return -1
}

// rest lets the owner run until it parks.
func (d *driver) rest() {
	d.t.Helper()
	for d.step() {
	}
}

// selected lets the owner run until it has chosen a waiter, and returns it.
func (d *driver) selected() int {
	d.t.Helper()
	for d.granting() < 0 {
		require.True(d.t, d.step(), "nobody is chosen")
	}
	return d.granting()
}

// acquire is a whole Acquire of each caller in turn, with the owner's answer.
func (d *driver) acquire(callers ...int) {
	d.t.Helper()
	for _, i := range callers {
		d.must(d.enter(i))
		if d.callers[i].state == entered {
			d.must(d.push(i))
		}
		d.rest()
	}
}

func (d *driver) state(i int) int { return d.callers[i].state }

func (d *driver) requireRefused(why sched.Reason, callers ...int) {
	d.t.Helper()
	for _, i := range callers {
		require.Equal(d.t, refused, d.state(i))
		require.Equal(d.t, why, d.callers[i].why)
	}
}

// serve releases the permit of caller i and those of all that get it after.
func (d *driver) serve(i int) {
	d.t.Helper()
	for n := len(d.grants); ; n++ {
		d.must(d.release(i))
		d.rest()
		if len(d.grants) == n {
			return
		}
		i = d.grants[n]
	}
}
