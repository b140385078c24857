package deploy

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/tenetcm/tenet/runtime/control"
)

// BenchmarkReadEachOther has each host read a fact of all others, and tells what a server keeps of that in memory, and what a round costs before which one host has told another fact:
//
//	go test ./server/deploy -run - -bench ReadEachOther -benchtime 5x -timeout 1h
func BenchmarkReadEachOther(b *testing.B) {
	for _, n := range []int{300, 1500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			before := heapSize()
			f := newFleet(b, n)
			f.readEachOther()
			f.finish(f.deploy("one").ID)
			delete(f.Service.kept, "shop") // as after a start
			round := func() {
				_, err := f.Round(b.Context())
				f.must(err)
			}
			round()
			kept := heapSize() - before
			used := processorTime(b)
			b.ResetTimer()
			for i := range b.N {
				f.tellFact(i%n, fmt.Sprint(i))
				round()
			}
			b.ReportMetric((processorTime(b)-used).Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(kept)/1e6, "MB")
		})
	}
}

// heapSize is what takes memory now, in bytes.
func heapSize() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// readEachOther has each host read a fact of all others.
func (f *fleet) readEachOther() {
	f.reads = func(host string) (all []string) {
		for _, h := range f.hosts {
			if h.Name != host {
				all = append(all, h.Name)
			}
		}
		return all
	}
}

// tellFact has a host tell a fact that others read.
func (f *fleet) tellFact(host int, value string) {
	id := f.hosts[host].ID
	own := map[string]json.RawMessage{}
	for name, v := range f.facts {
		own[name] = v
	}
	own["fact0"] = json.RawMessage(fmt.Sprintf("%q", value))
	f.own[id] = own
	f.Told(id, []*control.Item{{Facts: &control.Facts{}}})
}
