package sim

import "slices"

// Shrink looks for a shorter history that fails too: it leaves out chunks, then
// single operations, then makes what is left simpler. It tries at most tries
// histories, and returns the shortest that failed, with what came of it.
func Shrink(h History, res Result, tries int, run func(History) Result) (History, Result) {
	try := func(ops []Op) bool {
		if tries <= 0 {
			return false
		}
		tries--
		c := History{Seed: h.Seed, Shape: h.Shape, Ops: ops}
		if r := run(c); r.Violation != "" {
			h, res = c, r
			return true
		}
		return false
	}
	for size := max(1, len(h.Ops)/2); size > 0; size /= 2 {
		for again := true; again; {
			again = false
			for at := len(h.Ops) - size; at >= 0; at -= size {
				if at+size <= len(h.Ops) && try(slices.Delete(slices.Clone(h.Ops), at, at+size)) {
					again = size == 1
				}
			}
		}
	}
	for i := range h.Ops {
		for _, simpler := range simplify(h.Ops[i]) {
			ops := slices.Clone(h.Ops)
			ops[i] = simpler
			if ops[i] != h.Ops[i] {
				try(ops)
			}
		}
	}
	return h, res
}

// simplify lists simpler forms of an operation, the simplest first.
func simplify(op Op) []Op {
	var out []Op
	for _, site := range []uint8{0, op.Site} {
		for _, a := range []uint16{0, 1, op.A} {
			for _, b := range []uint16{0, op.B} {
				for _, c := range []uint16{0, 1, op.C} {
					out = append(out, Op{op.Kind, site, a, b, c})
				}
			}
		}
	}
	return out
}
