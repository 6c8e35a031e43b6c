package future_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
)

// badError is an error that cannot be printed.
type badError struct{}

func (badError) Error() string { panic("no text") }

// uncomparable errors panic when compared with ==.
type uncomparable []string

func (uncomparable) Error() string { return "uncomparable" }

func TestErrors(t *testing.T) {
	t.Run("CanceledError", func(t *testing.T) {
		err := error(&future.CanceledError{Cause: errWhy})
		require.EqualError(t, err, "future: canceled: why")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errWhy)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, &future.CanceledError{Cause: context.DeadlineExceeded}, context.DeadlineExceeded)
		require.EqualError(t, &future.CanceledError{Cause: context.Canceled}, "future: canceled")
		require.EqualError(t, &future.CanceledError{}, "future: canceled")
		require.NoError(t, (&future.CanceledError{}).Unwrap())
	})

	t.Run("InterruptedError", func(t *testing.T) {
		err := &future.InterruptedError{Err: context.DeadlineExceeded, Cause: errWhy}
		require.EqualError(t, err, "future: wait interrupted: context deadline exceeded: why")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errWhy)
		require.NotErrorIs(t, err, context.Canceled)
		require.EqualError(t, &future.InterruptedError{Err: context.Canceled, Cause: context.Canceled},
			"future: wait interrupted: context canceled")
		require.Empty(t, (&future.InterruptedError{}).Unwrap())
		require.NotErrorIs(t, &future.InterruptedError{}, context.Canceled)
	})

	t.Run("PanicError", func(t *testing.T) {
		require.EqualError(t, &future.PanicError{Value: 7}, "panic: 7")
		require.NoError(t, (&future.PanicError{Value: 7}).Unwrap())
		require.ErrorIs(t, &future.PanicError{Value: fmt.Errorf("x: %w", errBoom)}, errBoom)
	})

	t.Run("ConfigError", func(t *testing.T) {
		err := error(&future.ConfigError{Field: "Size", Value: -1, Reason: errWhy})
		require.EqualError(t, err, "Size is -1: why")
		require.ErrorIs(t, err, future.ErrConfig)
		require.ErrorIs(t, err, errWhy)
		require.NotErrorIs(t, err, errBoom)
	})

	t.Run("an_error_that_cannot_be_printed_or_compared", func(t *testing.T) {
		for _, inner := range []error{badError{}, uncomparable{"x"}} {
			for _, err := range []error{
				&future.CanceledError{Cause: inner},
				&future.InterruptedError{Err: context.Canceled, Cause: inner},
				&future.InterruptedError{Err: inner, Cause: inner},
				&future.PanicError{Value: inner},
				&future.ConfigError{Field: "f", Value: inner, Reason: inner},
			} {
				require.NotPanics(t, func() { _ = err.Error() })
				require.NotPanics(t, func() { errors.Is(err, errBoom) })
			}
		}
	})

	t.Run("FUT-8_Canceled_is_about_the_future_itself", func(t *testing.T) {
		canceled := &future.CanceledError{Cause: errWhy}
		require.True(t, future.Outcome[int]{Err: canceled}.Canceled())
		require.False(t, future.Outcome[int]{Value: 1}.Canceled())
		for _, err := range []error{
			errBoom,
			context.Canceled,
			fmt.Errorf("load: %w", canceled),
			errors.Join(canceled, errBoom),
			&future.PanicError{Value: canceled},
			&future.InterruptedError{Err: context.Canceled, Cause: canceled},
		} {
			require.False(t, future.Outcome[int]{Err: err}.Canceled(), "%v", err)
		}
	})
}
