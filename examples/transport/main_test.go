package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTransport(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(&out))
	story := out.String()

	t.Run("EX-1 each step is told", func(t *testing.T) {
		for _, line := range []string{
			"== concurrent: 8 replies, in order: hello 0, hello 1, hello 2, hello 3, hello 4, hello 5, hello 6, hello 7",
			`== retry: "at last" after two failures`,
			"== cancel: future: canceled: the user left; the server saw the client go",
			`== abandon: the response "200 OK" came too late, and was closed`,
		} {
			require.Contains(t, story, line)
		}
	})
	t.Run("EX-1 the trace id of each request is in both sides' logs", func(t *testing.T) {
		traces := []string{"retry", "cancel", "abandon"}
		for i := range 8 {
			traces = append(traces, fmt.Sprintf("hello-%d", i))
		}
		for _, trace := range traces {
			for _, side := range []string{"client sends", "server handles"} {
				require.True(t, logged(story, side, trace), "%s %s:\n%s", side, trace, story)
			}
		}
		require.Equal(t, 2, strings.Count(story, "client backs off"))
	})
}

// logged reports whether one record has both the message and the trace id.
func logged(story, msg, trace string) bool {
	for line := range strings.Lines(story) {
		if strings.Contains(line, fmt.Sprintf("msg=%q", msg)) && strings.Contains(line, " trace="+trace+" ") {
			return true
		}
	}
	return false
}
