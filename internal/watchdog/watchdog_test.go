package watchdog_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/watchdog"
)

func await(t *testing.T, alarms <-chan watchdog.Alarm) watchdog.Alarm {
	t.Helper()
	select {
	case a := <-alarms:
		return a
	case <-time.After(time.Minute):
		t.Fatal("the dog sleeps")
	}
	return watchdog.Alarm{}
}

func TestTime(t *testing.T) {
	alarms := make(chan watchdog.Alarm, 1)
	d := watchdog.Watch(watchdog.Limits{Time: 50 * time.Millisecond}, func(a watchdog.Alarm) { alarms <- a })
	if a := await(t, alarms); a.String() != "takes longer than 50ms" {
		t.Error(a)
	}
	d.Stop()
}

func TestMemory(t *testing.T) {
	alarms := make(chan watchdog.Alarm, 1)
	d := watchdog.Watch(watchdog.Limits{Memory: 64 << 20, Time: time.Minute}, func(a watchdog.Alarm) { alarms <- a })
	kept := make([]byte, 256<<20)
	if a := await(t, alarms); a.String() != "needs more than 64 MiB of memory" {
		t.Error(a)
	}
	d.Stop()
	runtime.KeepAlive(kept)
}

// What is not in use any more does not count, nor the time that a person takes.
func TestQuiet(t *testing.T) {
	d := watchdog.Watch(watchdog.Limits{Time: time.Second}, func(a watchdog.Alarm) { t.Error(a) })
	d.Pause(func() { time.Sleep(1500 * time.Millisecond) })
	d.Stop()
	d = watchdog.Watch(watchdog.Limits{Memory: 256 << 20, Time: time.Minute}, func(a watchdog.Alarm) { t.Error(a) })
	total := 0
	for range 800 {
		piece := make([]byte, 1<<20)
		total += len(piece)
	}
	d.Stop()
	if total != 800<<20 {
		t.Error(total)
	}
}

func ExampleWatch() {
	dog := watchdog.Watch(watchdog.Limits{}, func(a watchdog.Alarm) { fmt.Println("the evaluation", a) })
	defer dog.Stop()
	fmt.Println("evaluated")
	// Output: evaluated
}
