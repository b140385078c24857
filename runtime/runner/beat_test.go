package runner

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/wire"
)

// While what is asked for takes its time, the runner says that it is there.
func TestRunnerBeats(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	h, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Host: h, Root: root, StateDir: t.TempDir(), Registry: modules.Standard(), Program: "test", beat: time.Millisecond}
	c, _, err := Local(r)(t.Context(), wire.Opening{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	asked := time.Now()
	// The bundle does not come: the runner waits for it.
	if err := c.Send(wire.KindRequest, wire.Request{Op: wire.OpPlan}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Receive()
		ended <- err
	}()
	for deadline := time.Now().Add(time.Minute); c.Alive().Sub(asked) < 50*time.Millisecond; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it says nothing")
		}
	}
	if c.Moved().Sub(asked) > 50*time.Millisecond {
		t.Error("a beat counts as a word")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a beat is handed on: %v", err)
	}
}
