package privilege

import (
	"testing"

	"github.com/tenetcm/tenet/internal/often"
)

func TestMain(m *testing.M) { often.Main(m, "") }
