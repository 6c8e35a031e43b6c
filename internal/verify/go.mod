module github.com/cadre-go/cadre/internal/verify

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/cadre-go/cadre v0.0.0
	go.uber.org/goleak v1.3.0
)

replace github.com/cadre-go/cadre => ../../
