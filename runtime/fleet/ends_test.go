package fleet_test

import (
	"errors"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/fleet"
)

// leaves makes an execution of four machines: one is done, one left, one failed, and of one it is
// not known how it ended.
func leaves(t *testing.T, e *fleet.Executions) *fleet.Execution {
	t.Helper()
	r := record(4)
	for i, status := range []fleet.Status{fleet.Done, fleet.Detached, fleet.Failed, ""} {
		r.Hosts[i].Status = status
	}
	x, err := e.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func hostStatuses(r *fleet.Record) (list []fleet.Status) {
	for _, h := range r.Hosts {
		list = append(list, h.Status)
	}
	return list
}

// What is not known of a record can be learnt, once; the execution has ended with its last machine.
func TestLearnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fleet.Executions{Dir: t.TempDir()}
		x := leaves(t, e)
		x.Close()
		left, err := e.Load(x.ID())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		learn := func(ends map[string]fleet.HostEnd, want ...fleet.Status) *fleet.Record {
			t.Helper()
			r, err := e.LearnEnds(x.ID(), ends)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := e.Load(x.ID())
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(kept, r) {
				t.Errorf("it keeps %+v, and gives %+v", kept, r)
			}
			equal(t, "how they ended", hostStatuses(r), want)
			return r
		}
		at := left.Ended.Add(time.Minute)
		r := learn(map[string]fleet.HostEnd{
			"m0": {Run: "other", Status: fleet.Failed, At: at}, "m1": {Run: "run-1", Status: fleet.Done, At: at}, "stranger": {Status: fleet.Done},
		}, fleet.Done, fleet.Done, fleet.Failed, "")
		if r.Hosts[0].Run != "" || r.Hosts[1].Run != "run-1" || !r.Ended.Equal(left.Ended) {
			t.Errorf("%+v", r)
		}
		r = learn(map[string]fleet.HostEnd{"m1": {Status: fleet.Failed, At: at}, "m3": {Run: "../x", Status: fleet.Interrupted, At: at}},
			fleet.Done, fleet.Done, fleet.Failed, fleet.Interrupted)
		if !r.Ended.Equal(at) || r.Hosts[3].Run != "" {
			t.Errorf("%+v", r)
		}
		if r = learn(map[string]fleet.HostEnd{"m3": {Status: fleet.Done, At: at.Add(time.Minute)}}, hostStatuses(r)...); !r.Ended.Equal(at) {
			t.Errorf("it ended anew: %+v", r)
		}
		var none *fleet.NotFoundError
		for _, id := range []string{"20200101-000000-aaaaaa", "../" + x.ID()} {
			if _, err := e.LearnEnds(id, nil); !errors.As(err, &none) {
				t.Error(id, err)
			}
		}
	})
}

// No machine's clock puts an end into the future.
func TestLearnEndsInTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fleet.Executions{Dir: t.TempDir()}
		x := leaves(t, e)
		x.Close()
		end := fleet.HostEnd{Status: fleet.Done, At: time.Now().AddDate(5000, 0, 0)}
		r, err := e.LearnEnds(x.ID(), map[string]fleet.HostEnd{"m1": end, "m3": end})
		if err != nil || !r.Ended.Equal(time.Now()) {
			t.Errorf("%+v %v", r, err)
		}
	})
}

// A controller that still goes on with others does not forget what was learnt meanwhile, and who
// learns does not forget what it writes.
func TestLearnEndsMeanwhile(t *testing.T) {
	e := &fleet.Executions{Dir: t.TempDir()}
	x := leaves(t, e)
	var learners sync.WaitGroup
	for _, host := range []string{"m1", "m3"} {
		learners.Go(func() {
			if _, err := e.LearnEnds(x.ID(), map[string]fleet.HostEnd{host: {Status: fleet.Done, At: time.Now()}}); err != nil {
				t.Error(err)
			}
		})
	}
	learners.Wait()
	x.Becomes("m2")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := e.Load(x.ID())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "how they ended", hostStatuses(r), []fleet.Status{fleet.Done, fleet.Done, fleet.Failed, fleet.Done})
	if !r.Hosts[2].Becomes {
		t.Error("what the controller wrote is lost")
	}
}
