package fold

import "math/bits"

// roleset is a set of roles that is searched round a ring: 64 roles a word, so
// that looking for an idle one costs the same in a wide pool.
type roleset []uint64

func newRoleset(n int) roleset { return make(roleset, (n+63)/64) }

func (s roleset) add(role int)    { s[role>>6] |= 1 << (role & 63) }
func (s roleset) remove(role int) { s[role>>6] &^= 1 << (role & 63) }

// next returns the first role at or after from, going round once, or None.
func (s roleset) next(from int) int {
	word := from >> 6
	if w := s[word] >> (from & 63); w != 0 {
		return from + bits.TrailingZeros64(w)
	}
	for i := word + 1; i < len(s); i++ {
		if s[i] != 0 {
			return i<<6 + bits.TrailingZeros64(s[i])
		}
	}
	for i := range word + 1 { // from's word again, for the roles before from
		if s[i] != 0 {
			return i<<6 + bits.TrailingZeros64(s[i])
		}
	}
	return None
}
