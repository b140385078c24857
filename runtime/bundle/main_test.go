package bundle_test

import (
	"testing"

	"github.com/tenetcm/tenet/internal/often"
)

// TestMain lowers the number of random bundles, each of which is many files on the
// disk.
func TestMain(m *testing.M) { often.Main(m, "20") }
