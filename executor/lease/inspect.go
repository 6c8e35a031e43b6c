package lease

import (
	"runtime"
	"sync"
	"weak"
)

// listed maps the id of each pool that is in memory to a function that reads
// it, and that does not keep it there.
var listed sync.Map // uint64 -> func() (Stats, bool)

// Inspect returns a reading of the pool with that id, which is in its events and
// records, and false if there is none any more. It keeps no pool alive.
func Inspect(id uint64) (Stats, bool) {
	read, ok := listed.Load(id)
	if !ok {
		return Stats{}, false
	}
	return read.(func() (Stats, bool))()
}

func (c *core[R]) list() {
	ref := weak.Make(c)
	listed.Store(c.id, func() (Stats, bool) {
		c := ref.Value()
		if c == nil {
			return Stats{}, false
		}
		return c.stats(), true
	})
	if !c.bubbled {
		runtime.AddCleanup(c, func(id uint64) { listed.Delete(id) }, c.id)
	}
}

// unlist forgets a pool of a synctest bubble, which nothing must outlive.
func (c *core[R]) unlist() {
	if c.bubbled {
		listed.Delete(c.id)
	}
}
