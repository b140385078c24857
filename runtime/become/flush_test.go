package become

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/tenetcm/tenet/runtime/privilege"
)

// A file system that hangs does not hold up the end of a run for ever, and what is on
// the disk later is not written again.
func TestFlushOnAFileSystemThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, hangs, syncs := &link{name: "deploy"}, make(chan struct{}), 0
		sync := func() {
			syncs++
			<-hangs
		}
		if _, ok := errors.AsType[*privilege.Refusal](l.flush(sync)); !ok {
			t.Error("it is said to be durable")
		}
		close(hangs)
		if err := l.flush(sync); err != nil || syncs != 1 {
			t.Errorf("after %d syncs: %v", syncs, err)
		}
	})
}
