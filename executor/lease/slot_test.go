package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/timer/timertest"
)

func TestPreferWarm(t *testing.T) {
	for limit, cfg := range map[string]config{
		"MaxIdle":     {MaxIdle: time.Minute},
		"MaxLifetime": {MaxLifetime: 2 * time.Minute},
	} {
		t.Run("LEASE-25 PreferWarm passes over what has expired by "+limit, func(t *testing.T) {
			bothPaths(t, func(t *testing.T, slow bool) {
				mock := timertest.NewMock()
				cfg.Slots, cfg.SlotOrder, cfg.Clock = 2, lease.PreferWarm, mock
				p, _ := testPool(t, cfg, slow, nil)
				a := acquire(t, p)
				mock.Add(time.Minute)
				b := acquire(t, p)
				require.Equal(t, []int{0, 1}, []int{a.Slot(), b.Slot()})
				release(t, a)
				mock.Add(time.Minute)
				release(t, b)
				// Slot 0 has been idle for a minute, and is two old; slot 1 is neither.
				l := acquire(t, p)
				require.Equal(t, 1, l.Slot())
				require.Equal(t, uint64(2), p.Stats().Connects)
				l2 := acquire(t, p)
				require.Equal(t, 0, l2.Slot(), "where none is usable, the lowest")
				require.Equal(t, uint64(3), p.Stats().Connects)
				release(t, l)
				release(t, l2)
				atRest(t, p)
			})
		})
	}
}
