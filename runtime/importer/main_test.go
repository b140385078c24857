package importer_test

import (
	"testing"

	"github.com/tenetcm/tenet/internal/rapidtest"
)

// Each case plans a machine, twice: fewer than usual are enough, unless more are asked
// for.
func TestMain(m *testing.M) { rapidtest.Main(m, "25") }
