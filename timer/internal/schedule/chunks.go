package schedule

// chunkLen is the length of one chunk, a power of two so that an index takes
// a shift and a mask.
const chunkLen = 64

// chunks is an array that grows and shrinks at its end without being copied:
// one long slice would be copied under the timer's lock, cost several times
// its size on the way up, and stay at its largest size for ever.
type chunks[E any] struct {
	list []*[chunkLen]E
	len  int
}

func (c *chunks[E]) at(i int) *E { return &c.list[i/chunkLen][i%chunkLen] }

// grow adds a zero element.
func (c *chunks[E]) grow() {
	if c.len == len(c.list)*chunkLen {
		c.list = append(c.list, new([chunkLen]E))
	}
	c.len++
}

// shrink takes the last element off. One empty chunk is kept, so that an array
// whose length moves around a boundary does not allocate at each step.
func (c *chunks[E]) shrink() {
	c.len--
	var zero E
	*c.at(c.len) = zero
	if n := len(c.list); c.len <= (n-2)*chunkLen {
		c.list[n-1] = nil
		c.list = c.list[:n-1]
	}
}
