// Command cmd rewrites the text files in sig/ from the source of the module in
// the current directory. It writes what it is told to record and judges
// nothing: the test in sig/ does.
package main

import (
	"fmt"
	"os"

	"github.com/cadre-go/cadre/internal/apisig"
)

func main() {
	r, err := apisig.Read(".")
	if err == nil {
		err = r.Write("sig")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "apisig:", err)
		os.Exit(1)
	}
}
