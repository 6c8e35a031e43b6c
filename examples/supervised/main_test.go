package main

import (
	"bytes"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/executor/supervised"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSupervised(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(&out), out.String())
	story := out.String()
	t.Run("EX-1 each step is told", func(t *testing.T) {
		for _, line := range []string{
			`"tide"           index-a found [harbor river]`,
			`"rope market"    index-b found [market]`,
			`"?!"             came back: assigned, attempts exhausted, after 2 attempts`,
			"notice: worker restarted of index-b", "notice: role retired of index-b (3 of 3 restarts used)",
			"fault: recovery failed of index-b (3 of 3 restarts used)",
			`"water"          index-a found [harbor mill river storm]`,
			"1 assigned, 4 queued",
			`"storm"          came back: assigned, pool shutdown, after 1 attempts`,
			`"gulls"          came back: queued, pool shutdown, after 0 attempts`,
		} {
			require.Contains(t, story, line, story)
		}
	})
	t.Run("EX-1 the ledger balances", func(t *testing.T) {
		for _, line := range []string{
			"ledger: 15 queries submitted",
			"  5  completed", "  2  returned assigned, attempts exhausted",
			"  4  returned queued, pool shutdown", "  1  returned assigned, pool shutdown",
			"  2  rejected, backlog full", "  1  rejected, pool stopping",
			" 15  in all: it balances",
		} {
			require.Contains(t, story, line, story)
		}
	})
	t.Run("EX-1 a ledger that does not balance is an error", func(t *testing.T) {
		l := ledger{submitted: 1}
		require.Error(t, l.balance(&out, supervised.Stats{}))
	})
}

func TestIndex(t *testing.T) {
	t.Run("EX-1 documents with all words", func(t *testing.T) {
		x, err := openIndex(fstest.MapFS{
			"d/one.txt": {Data: []byte("A boat, a quay. A boat!")},
			"d/two.txt": {Data: []byte("no BOAT")},
		}, "d")
		require.NoError(t, err)
		require.Equal(t, []string{"one", "two"}, x.search("boat"))
		require.Equal(t, []string{"one"}, x.search("Boat quay"))
		require.Empty(t, x.search("whale"))
		require.Panics(t, func() { x.search("") })
		_, err = openIndex(fstest.MapFS{}, "d")
		require.Error(t, err)
	})
}
