package adopt_test

import (
	"testing"

	"github.com/tenetcm/tenet/internal/often"
)

// Each case plans a machine, twice: fewer than usual are enough, unless more are asked
// for.
func TestMain(m *testing.M) { often.Main(m, "25") }
