package pools

import "context"

// Kinds returns every way of running tasks.
func Kinds() []Kind {
	return []Kind{
		{
			Name: Cadre, Queue: true, Full: "typed rejection", Lacks: "nothing",
			Start: cadre(context.Background()),
		},
		{
			Name: Labeled, Queue: true, Full: "typed rejection", Lacks: "nothing",
			Start: cadre(LabeledContext()),
		},
		{
			Name: Channel, Queue: true, Full: "rejects",
			Lacks: "task context, label hygiene, net for panic and Goexit, custody and bound at close, accounts",
			Start: channel(false, call),
		},
		{
			Name: ChannelRecover, Queue: true, Full: "rejects",
			Lacks: "task context, label hygiene, net for Goexit, custody and bound at close, accounts",
			Start: channel(false, contain),
		},
		{
			Name: ChannelBlocks, Queue: true, Full: "blocks, with no end",
			Lacks: "rejection; otherwise as channel",
			Start: channel(true, call),
		},
		{
			Name: MutexRing, Queue: true, Full: "rejects",
			Lacks: "as channel",
			Start: startRing,
		},
		{
			Name: Goroutines, Full: "never full",
			Lacks: "any bound, order; otherwise as channel",
			Start: startGoroutines,
		},
		{
			Name: Ants, Peer: true, Full: "blocks, with no end",
			Lacks: "queue, task context, label hygiene, custody at close; a panic is recovered and printed",
			Start: startAnts(false),
		},
		{
			Name: "ants, nonblocking", Peer: true, Full: "rejects",
			Lacks: "as ants",
			Start: startAnts(true),
		},
		{
			Name: Pond, Peer: true, Queue: true, Full: "blocks, with no end",
			Lacks: "task context and its cancellation, label hygiene, net for Goexit in a result, bound of Wait and of close",
			Start: startPond(false),
		},
		{
			Name: PondNonblocking, Peer: true, Queue: true, Full: "rejects",
			Lacks: "as pond",
			Start: startPond(true),
		},
		{
			Name: Workerpool, Peer: true, Queue: true, Full: "never full",
			Lacks: "bound of the queue, task context, label hygiene, net for panic and Goexit, bound at close",
			Start: startWorkerpool,
		},
		{
			Name: "conc", Peer: true, Full: "blocks, with no end",
			Lacks: "queue, task context, label hygiene, rejection, accounts; a panic surfaces in Wait",
			Start: startConc,
		},
		{
			Name: Gopool, Peer: true, Queue: true, Full: "never full",
			Lacks: "bound of the queue, task context, label hygiene, net for Goexit, close of any kind; a panic is recovered and printed",
			Start: startGopool,
		},
		{
			Name: "errgroup", Peer: true, Full: "blocks, with no end",
			Lacks: "queue, task context, label hygiene, net for panic; the first error alone is kept",
			Start: startErrgroup,
		},
		{
			Name: "semaphore", Peer: true, Full: "blocks until a ctx ends",
			Lacks: "queue, task context, label hygiene, net for panic and Goexit, custody at close: it counts, and the caller starts goroutines",
			Start: startSemaphore,
		},
	}
}

// Libraries returns the names of the kinds that are somebody's package.
func Libraries() []string {
	var names []string
	for _, k := range Kinds() {
		if k.Peer {
			names = append(names, k.Name)
		}
	}
	return names
}
