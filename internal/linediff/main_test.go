package linediff

import (
	"testing"

	"github.com/tenetcm/tenet/internal/rapidtest"
)

func TestMain(m *testing.M) { rapidtest.Main(m, "") }
