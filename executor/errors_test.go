package executor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
)

func TestRejectedError(t *testing.T) {
	t.Run("EXEC-2_its_text_names_the_bounds_where_there_are_some", func(t *testing.T) {
		bounded := &executor.RejectedError{Pool: "p", Reason: executor.ErrQueueFull, Size: 2, QueueLimit: 5}
		require.EqualError(t, bounded, `executor "p" (size 2, queue limit 5): task rejected: `+executor.ErrQueueFull.Error())
		inline := &executor.RejectedError{Pool: "inline", Reason: executor.ErrClosed}
		require.EqualError(t, inline, `executor "inline": task rejected: `+executor.ErrClosed.Error())
	})
}
