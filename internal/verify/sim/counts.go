package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Counts is what a run of histories did.
type Counts struct {
	mu        sync.Mutex
	histories int
	steps     int // operations that found something to act on
	balances  int
	ops       map[Kind]int
	faults    map[string]int
}

// NewCounts returns empty counts.
func NewCounts() *Counts { return &Counts{ops: map[Kind]int{}, faults: map[string]int{}} }

func (c *Counts) fault(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[name]++
}

func (c *Counts) op(k Kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops[k]++
	c.steps++
}

// Histories returns how many histories there were.
func (c *Counts) Histories() int { return c.histories }

// String is the summary: what was done, and each kind of fault.
func (c *Counts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories, %d operations, ledgers balanced %d times\n\noperations\n", c.histories, c.steps, c.balances)
	for k := range kinds {
		fmt.Fprintf(&b, "  %-18s %8d\n", Kind(k), c.ops[Kind(k)])
	}
	b.WriteString("\nfaults\n")
	total := 0
	for _, name := range slices.Sorted(maps.Keys(c.faults)) {
		fmt.Fprintf(&b, "  %-44s %8d\n", name, c.faults[name])
		total += c.faults[name]
	}
	fmt.Fprintf(&b, "  %-44s %8d\n", "all", total)
	return b.String()
}
