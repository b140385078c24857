package lang_test

import (
	"runtime/debug"
	"testing"

	"github.com/tenetcm/tenet/internal/rapidtest"
)

// TestMain collects garbage less often: these tests make much of it and keep little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	rapidtest.Main(m, "")
}
