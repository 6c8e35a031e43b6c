// Package sig_test keeps the record of the exported API true. The text files
// beside it mirror the packages; "make sig" rewrites them. A change of a file
// in a review is a change of what users compile against.
package sig_test

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/internal/apisig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record reads the module once a process: type-checking it is most of the cost.
var record = sync.OnceValues(func() (*apisig.Record, error) { return apisig.Read("..") })

func TestSig(t *testing.T) {
	r, err := record()
	require.NoError(t, err)
	require.NotEmpty(t, r.Files)

	t.Run("SIG-1 the files are the exported API", func(t *testing.T) {
		problems, err := r.Compare(os.DirFS("."))
		require.NoError(t, err)
		for _, p := range problems {
			t.Error(p)
		}
		if len(problems) > 0 {
			t.Log(`"make sig" rewrites the files; look at what it changes before you commit it.`)
		}
	})
	t.Run("SIG-1 no exported declaration mentions an internal type", func(t *testing.T) {
		for _, leak := range r.Leaks {
			t.Error(leak)
		}
	})
}
