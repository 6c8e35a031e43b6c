package sim

import (
	"bytes"
	"regexp"
	"runtime/pprof"
)

var labelPattern = regexp.MustCompile(`"(job|stray)":"([0-9a-z]+-[0-9]+)"`)

// lookAtLabels reads the labels of all goroutines: a job's are on goroutines
// that stand in its own code, and on no other.
func (w *world) lookAtLabels(Op) {
	w.note("look at the labels")
	quiet := w.quiet()
	live := map[string]bool{}
	standing := map[string]string{}
	w.mu.Lock()
	for _, p := range w.puppets {
		if p.gone || p.ctx == nil {
			continue
		}
		if l, ok := pprof.Label(p.ctx, "job"); ok {
			live[l] = true
			if p.role == taskRole && !p.busy && p.task != nil && !p.task.inline {
				standing[l] = p.what
			}
		}
	}
	w.mu.Unlock()
	var buf bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&buf, 1); err != nil {
		w.bad("no goroutine profile: %v", err)
		return
	}
	for _, m := range labelPattern.FindAllSubmatch(buf.Bytes(), -1) {
		l := string(m[2])
		if len(l) <= len(w.run) || l[:len(w.run)+1] != w.run+"-" {
			continue // of another history
		}
		if !live[l] && quiet { // a callback has the labels of whoever settles
			w.bad("a goroutine has the label %s=%s of a job that does not run", m[1], l)
		}
		delete(standing, l)
	}
	for l, what := range standing {
		w.bad("%s runs, and its label %s is on no goroutine", what, l)
	}
}
