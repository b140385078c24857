package simulated_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
)

// Parts that run beside one another make the same directories.
func TestMakeDirectoryTogether(t *testing.T) {
	h := host.NewMemory()
	for i := range 500 {
		var makers sync.WaitGroup
		for range 4 {
			makers.Go(func() {
				if err := simulated.MakeDirectory(h, fmt.Sprintf("/%d/a/b", i), nil); err != nil {
					t.Error(err)
				}
			})
		}
		makers.Wait()
	}
}
