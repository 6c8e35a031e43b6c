package executor

import (
	"context"
	"reflect"

	"github.com/cadre-go/cadre/future"
)

// Async makes a blocking call asynchronous: each call of the returned function
// is a [Submit] of call to ex. A nil response (pointer, interface, map, slice,
// channel or function) with a nil error fails the future with
// [future.ErrNoValue]. A nil ex or call gives futures that fail with a
// [*ConfigError].
func Async[Req, Resp any](ex Executor, call func(context.Context, Req) (Resp, error), opts ...future.Option[Resp]) func(context.Context, Req) *future.Future[Resp] {
	return func(ctx context.Context, req Req) *future.Future[Resp] {
		if call == nil {
			return Submit[Resp](ctx, ex, nil)
		}
		return Submit(ctx, ex, func(ctx context.Context) (Resp, error) {
			resp, err := call(ctx, req)
			if err == nil && isNil(resp) {
				err = future.ErrNoValue
			}
			return resp, err
		}, opts...)
	}
}

// isNil reports whether v is the nil of its type.
func isNil[T any](v T) bool {
	r := reflect.ValueOf(&v).Elem()
	switch r.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return r.IsNil()
	}
	return false
}

// Sync makes an asynchronous call blocking: the returned function calls call
// and awaits its future. It returns the exact value or the identical error.
// When ctx ends first it cancels the future and returns a
// [*future.InterruptedError]. A nil ctx or call is a [*ConfigError]; a nil
// future is [future.ErrNoValue].
func Sync[Req, Resp any](call func(context.Context, Req) *future.Future[Resp]) func(context.Context, Req) (Resp, error) {
	return func(ctx context.Context, req Req) (Resp, error) {
		var none Resp
		if err := badPost(ctx, call == nil); err != nil {
			return none, err
		}
		f := call(ctx, req)
		if f == nil {
			return none, future.ErrNoValue
		}
		resp, err := f.Await(ctx)
		if ctx.Err() == nil {
			return resp, err
		}
		// f may be pending, or settle just now: then this does nothing, and
		// the outcome stands.
		f.Cancel(context.Cause(ctx))
		o, _ := f.Outcome()
		// Whether it was this wait or the operation's own tie to ctx that
		// noticed the end of ctx is all one to the caller. An error that
		// merely wraps a cancellation is the call's own.
		if canceled, ok := o.Err.(*future.CanceledError); ok && same(canceled.Cause, context.Cause(ctx)) {
			return none, &future.InterruptedError{Err: ctx.Err(), Cause: context.Cause(ctx)}
		}
		return o.Value, o.Err
	}
}

// same reports whether a and b are one error, be they comparable or not.
func same(a, b error) bool {
	if v := reflect.ValueOf(a); v.Comparable() {
		return a == b
	}
	return reflect.DeepEqual(a, b)
}
