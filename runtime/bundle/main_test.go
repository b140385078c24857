package bundle_test

import (
	"testing"

	"github.com/tenetcm/tenet/internal/rapidtest"
)

// TestMain lowers the number of random bundles, each of which is many files on the
// disk.
func TestMain(m *testing.M) { rapidtest.Main(m, "20") }
