package executor

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/internal/testwait"
)

// The test keeps the core, to end the goroutines of a Pool that nobody has.
func TestDroppedInBubble(t *testing.T) {
	t.Run("EXEC-18_no_cleanup_in_a_bubble", func(t *testing.T) {
		collected := make(chan struct{}) // not of the bubble
		synctest.Test(t, func(t *testing.T) {
			c := func() *core {
				p, err := New(Config{Size: 1})
				require.NoError(t, err)
				runtime.AddCleanup(p, func(c chan struct{}) { close(c) }, collected)
				return p.core
			}()
			for done := false; !done; {
				runtime.GC()
				select {
				case <-collected:
					done = true
				default:
					runtime.Gosched()
				}
			}
			for range 1000 { // a cleanup that woke the worker would end the process
				runtime.Gosched()
			}
			require.False(t, c.queue.in().closed())
			require.NoError(t, c.shutdown(bound{ctx: context.Background()}))
			testwait.Done(t, c.done)
		})
	})
}
