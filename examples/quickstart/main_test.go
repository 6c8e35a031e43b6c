package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuickstart(t *testing.T) {
	t.Run("EX-1 the README's first command tells its story", func(t *testing.T) {
		var out bytes.Buffer
		require.NoError(t, run(&out))
		for _, line := range []string{
			`msg="posted task runs" request=r-17`,
			"submitted task returned 42",
			"delay of 10ms is over",
			"canceled task: future: canceled: the user left",
			`msg="executor: shut down" pool=quickstart`,
		} {
			require.Contains(t, out.String(), line)
		}
	})
}
