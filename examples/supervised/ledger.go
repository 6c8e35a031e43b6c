package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cadre-go/cadre/executor/supervised"
)

// ledger accounts for every query that was ever handed to the pool.
type ledger struct {
	submitted int
	entries   map[string]int // how they ended
	order     []string       // of the first of each
	open      []open
}

type open struct {
	query  query
	ticket *supervised.Ticket[[]string]
}

func (l *ledger) enter(how string) {
	if l.entries == nil {
		l.entries = make(map[string]int)
	}
	if l.entries[how] == 0 {
		l.order = append(l.order, how)
	}
	l.entries[how]++
}

// submit hands a query to the pool and opens an account for it.
func (l *ledger) submit(ctx context.Context, p *pool, q query) {
	l.submitted++
	ticket, err := p.Submit(ctx, q)
	if err != nil {
		var rejected *supervised.RejectedError[query]
		if errors.As(err, &rejected) && rejected.Job == q {
			l.enter(fmt.Sprintf("rejected, %v", rejected.Reason))
		}
		return
	}
	l.open = append(l.open, open{q, ticket})
}

// settle waits for everything that is open, and shows what came of it.
func (l *ledger) settle(ctx context.Context, out io.Writer) error {
	accounts := l.open
	l.open = nil
	for _, o := range accounts {
		done, err := o.ticket.Outcome.Await(ctx)
		var returned *supervised.ReturnedError[query]
		switch {
		case err == nil:
			l.enter("completed")
			fmt.Fprintf(out, "  %-16q %s found %v\n", o.query.words, done.Role, done.Result)
		case errors.As(err, &returned) && returned.Job == o.query:
			l.enter(fmt.Sprintf("returned %v, %v", returned.Stage, returned.Reason))
			fmt.Fprintf(out, "  %-16q came back: %v, %v, after %d attempts\n",
				returned.Job.words, returned.Stage, returned.Reason, returned.Attempts)
		default:
			return fmt.Errorf("query %q: %w", o.query.words, err)
		}
	}
	return nil
}

// balance prints the ledger, and fails if a query is missing or counted twice.
func (l *ledger) balance(out io.Writer, stats supervised.Stats) error {
	fmt.Fprintf(out, "ledger: %d queries submitted\n", l.submitted)
	total := 0
	for _, how := range l.order {
		fmt.Fprintf(out, "  %3d  %s\n", l.entries[how], how)
		total += l.entries[how]
	}
	accepted, rejected := int(stats.Accepted), int(stats.Rejected)
	if total != l.submitted || accepted+rejected != l.submitted || stats.Settled != stats.Accepted {
		return fmt.Errorf("the ledger does not balance: %d of %d accounted for, pool says %+v", total, l.submitted, stats)
	}
	fmt.Fprintf(out, "  %3d  in all: it balances\n", total)
	return nil
}
