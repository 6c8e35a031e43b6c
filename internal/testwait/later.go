package testwait

import (
	"time"

	"github.com/cadre-go/cadre/internal/goid"
)

// Later has fn called by a callback that attach attaches to something that
// happens after d, on the goroutine on which that happens. It may have happened
// before the callback is attached, which then runs here: so it is tried again
// with a longer d.
func Later(attach func(d time.Duration, callback func()), fn func()) {
	here := goid.ID()
	for d, late := time.Millisecond, true; late; d *= 2 {
		late = false
		attach(d, func() {
			if goid.ID() == here {
				late = true
				return
			}
			fn()
		})
	}
}
