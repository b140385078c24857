package cluster

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// Whoever is connected all the while is found, however many others end between two pages; and what is known before an error is given, too.
func TestConnectionsWhileOthersEnd(t *testing.T) {
	var there []uint64
	for id := uint64(1); id <= 5*pageSize; id++ {
		there = append(there, id)
	}
	stays := func(id uint64) bool { return id > 4*pageSize || id%64 == 0 }
	pages := 0
	page := func(offset int) (list []client, err error) {
		for _, id := range there[min(offset, len(there)):min(offset+pageSize, len(there))] {
			list = append(list, client{ID: id})
		}
		if pages++; pages > 100 {
			t.Fatal("it does not end")
		}
		ended := 0 // of those that it has seen, as it would be if each was ended as it is found
		there = slices.DeleteFunc(there, func(id uint64) bool {
			if stays(id) || ended == 200 {
				return false
			}
			ended++
			return true
		})
		return list, nil
	}
	all, err := connections(page)
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint64]int{}
	for _, c := range all {
		found[c.ID]++
	}
	for id := uint64(1); id <= 5*pageSize; id++ {
		if n := found[id]; n > 1 || n == 0 && stays(id) {
			t.Fatalf("the connection %d was found %d times", id, n)
		}
	}
	broken := errors.New("no answer")
	if all, err = connections(func(offset int) ([]client, error) {
		if offset > 0 {
			return nil, broken
		}
		list := make([]client, pageSize)
		for i := range list {
			list[i].ID = uint64(i + 1)
		}
		return list, nil
	}); !errors.Is(err, broken) || len(all) != pageSize {
		t.Errorf("%d, %v", len(all), err)
	}
}

// A look that fails is told, and repeated until it succeeds; whoever asks meanwhile has one more made; and a watch that is closed looks no more.
func TestLookIsRepeated(t *testing.T) {
	var looks, reports atomic.Int64
	w := &watch{closed: make(chan struct{}), report: func(error) { reports.Add(1) }}
	w.looks = func() error {
		n := looks.Add(1)
		if n == 2 {
			w.lookAgain()
		}
		if n < 3 {
			return errors.New("no answer")
		}
		return nil
	}
	await := func(what string, isSo func() bool) {
		t.Helper()
		for begin := time.Now(); !isSo(); time.Sleep(time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatalf("not so after a minute: %s", what)
			}
		}
	}
	isIdle := func() bool { w.mu.Lock(); defer w.mu.Unlock(); return !w.looking }
	w.lookAgain()
	await("it has succeeded", isIdle)
	if looks.Load() != 3 || reports.Load() != 2 {
		t.Errorf("%d looks, %d reports", looks.Load(), reports.Load())
	}
	w.looks = func() error { looks.Add(1); return errors.New("no answer") }
	w.lookAgain()
	await("it looks", func() bool { return reports.Load() == 3 })
	close(w.closed)
	before := looks.Load()
	time.Sleep(2 * firstPause)
	if looks.Load() != before {
		t.Error("it looks after it was closed")
	}
}
