package graph_test

import (
	"testing"

	"github.com/tenetcm/tenet/internal/rapidtest"
)

// TestMain raises the number of random sites from a hundred to a thousand. More are tried by
// .ci/run crash.
func TestMain(m *testing.M) { rapidtest.Main(m, "1000") }
