package runtime_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
)

// Nobody holds a lock while another does, be they invocations or parts of one.
func TestLocks(t *testing.T) {
	m := host.NewMemory()
	var inside, apart atomic.Int32
	work := func(count *atomic.Int32, limit int32) host.Program {
		return func(context.Context, host.Command) (host.Result, error) {
			if count.Add(1) > limit {
				t.Error("two at once")
			}
			time.Sleep(5 * time.Millisecond)
			count.Add(-1)
			return host.Result{}, nil
		}
	}
	m.Handle("locked", work(&inside, 1))
	m.Handle("free", work(&apart, 100))
	got := apply(t, m, `
	state "side" {
	  parallel = true
	  command "one" {
	    argv = ["locked"]
	    lock = ["db"]
	  }
	  command "two" {
	    argv = ["locked"]
	    lock = ["db"]
	  }
	  command "three" {
	    argv = ["free"]
	  }
	}
	command "other" {
	  argv = ["locked"]
	  lock = ["web", "db"]
	}
	command "another" {
	  argv = ["locked"]
	  lock = ["db", "web"]
	}
	`)
	if got.Counts.Changed != 5 {
		t.Errorf("counts %+v", got.Counts)
	}
}
