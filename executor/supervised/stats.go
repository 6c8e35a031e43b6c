package supervised

import (
	"runtime"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
)

// Stats is one consistent reading of a pool. At every instant
//
//	Accepted = Queued + Assigned + Settled
type Stats struct {
	Mode     string // "serving", "draining", "stopped" or "forced"
	Roles    []RoleStats
	Queued   int
	Assigned int
	Charges  int // restarts that were charged and may still count; none when the pool has stopped

	Accepted         uint64
	Rejected         uint64
	Settled          uint64 // outcomes of accepted jobs
	DiagnosticPanics uint64 // of OnDiagnostic
}

// RoleStats is where one role stands. In a drain, and after one that was forced,
// Phase is where it stood when that began.
type RoleStats struct {
	Role        Role
	Phase       string
	Incarnation Incarnation // zero when the pool has stopped
	Restarts    uint64      // that were admitted, also when the pool has stopped
}

var modeNames = [...]string{
	fold.Serving: "serving", fold.Draining: "draining", fold.Stopped: "stopped", fold.Forced: "forced",
}

var phaseNames = [...]string{
	0: "stopped", fold.Starting: "starting", fold.Waiting: "waiting", fold.Dispatched: "dispatched",
	fold.Activating: "activating", fold.Idle: "idle", fold.Busy: "busy", fold.Stopping: "stopping",
	fold.AwaitingFactory: "awaiting factory", fold.Preparing: "preparing", fold.Scheduling: "scheduling",
	fold.Delayed: "delayed", fold.Retired: "retired",
}

var missingNames = [...]struct {
	what fold.Missing
	name string
}{
	{fold.MissingStart, "start"}, {fold.MissingActivation, "activation"}, {fold.MissingStop, "stop settlement"},
	{fold.MissingExit, "exit"}, {fold.MissingPreparation, "preparation"}, {fold.MissingTimer, "timer"},
}

// missing names what has not arrived.
func missing(set fold.Missing) []string {
	var names []string
	for _, m := range missingNames {
		if set&m.what != 0 {
			names = append(names, m.name)
		}
	}
	return names
}

// Stats returns one consistent reading.
func (p *Pool[J, R]) Stats() Stats {
	if p == nil || p.core == nil {
		return Stats{Mode: modeNames[fold.Stopped]}
	}
	defer runtime.KeepAlive(p)
	return p.core.stats()
}

func (c *core[J, R]) stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.fold.Counts()
	s := Stats{
		Mode: modeNames[n.Mode], Queued: n.Queued, Assigned: n.Assigned, Charges: n.Charges,
		Accepted: n.Accepted, Rejected: n.Rejected + c.refusedCtx.Load(), Settled: n.Settled,
		DiagnosticPanics: c.diagnosticPanic.Load(),
	}
	for i, role := range c.cfg.Roles {
		phase, incarnation := c.fold.Role(i)
		s.Roles = append(s.Roles, RoleStats{role, phaseNames[phase], Incarnation(incarnation), c.restarts[i]})
	}
	return s
}
