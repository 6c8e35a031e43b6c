package supervised_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cadre-go/cadre/executor/supervised"
)

type (
	Query string
	Hits  []string
)

// index is what a worker has and a pool knows nothing of.
type index struct{ lines []string }

func openIndex(context.Context, string) (*index, error) {
	return &index{[]string{"a stitch in time", "time and tide", "still waters"}}, nil
}

func (x *index) Search(_ context.Context, q Query) (Hits, error) {
	var hits Hits
	for _, line := range x.lines {
		if strings.Contains(line, string(q)) {
			hits = append(hits, line)
		}
	}
	return hits, nil
}

func use(role supervised.Role, hits Hits) { fmt.Printf("%s: %q\n", role, []string(hits)) }

func retryLater(q Query) error { return fmt.Errorf("%q has to wait", q) }

// search is all that a program needs of a supervised pool.
func search(ctx context.Context, query Query) error {
	pool, err := supervised.New(ctx, supervised.Config[Query, Hits]{
		Roles: []supervised.Role{"search-a", "search-b"},
		Factory: func(ctx context.Context, role supervised.Role) (supervised.Worker[Query, Hits], error) {
			idx, err := openIndex(ctx, string(role))
			if err != nil {
				return nil, err
			}
			return supervised.HandlerFunc[Query, Hits](func(ctx context.Context, a supervised.Assignment[Query, Hits]) error {
				hits, err := idx.Search(ctx, a.Job())
				if err != nil {
					return err // this incarnation ends; the job follows Interruption
				}
				return a.Complete(hits)
			}), nil
		},
		Backlog: 128, Activations: 1, Interruption: supervised.Retry, DrainWithin: 5 * time.Second,
		Recovery: supervised.Transient(supervised.Budget{Max: 3, Window: 10 * time.Second},
			supervised.Exponential(50*time.Millisecond, time.Second), supervised.RetireRole),
	})
	if err != nil {
		return err
	}
	defer pool.Shutdown(ctx)
	ticket, err := pool.Submit(ctx, query)
	if rejected := (*supervised.RejectedError[Query])(nil); errors.As(err, &rejected) {
		return retryLater(rejected.Job)
	}
	done, err := ticket.Outcome.Await(ctx)
	if returned := (*supervised.ReturnedError[Query])(nil); errors.As(err, &returned) {
		return retryLater(returned.Job)
	}
	use(done.Role, done.Result)
	return nil
}

func Example() {
	if err := search(context.Background(), "time"); err != nil {
		fmt.Println(err)
	}
	// Output: search-a: ["a stitch in time" "time and tide"]
}

func ExampleNew() {
	pool, err := supervised.New(context.Background(), supervised.Config[int, int]{})
	fmt.Println(pool == nil, errors.Is(err, supervised.ErrConfig))
	// Output: true true
}
