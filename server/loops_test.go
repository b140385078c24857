package server

import (
	"context"
	"testing"

	"github.com/tenetcm/tenet/runtime/fault"
)

// A server of which a part has a fault ends with that, rather than go on without it.
func TestFaultOfAPart(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var wait fault.Group
	keepUp(&wait, cancel, func() { panic("a fault") })
	<-ctx.Done()
	defer func() {
		if recover() == nil {
			t.Error("nobody learns of the fault")
		}
	}()
	wait.Wait()
}
