package agent

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/control"
)

// itemOf gives an item of a stream: JSON, as each is.
func itemOf(n, size int) []byte {
	return fmt.Appendf(nil, `{"n":%d,"text":%q}`, n, strings.Repeat("x", size))
}

// told is what a stream has numbered, and somebody may have been told.
type told struct {
	name  string
	items map[uint64][]byte
}

// check demands that a stream has all that was told of it and that it keeps, and nothing else under these numbers.
func (was *told) check(t interface{ Fatalf(string, ...any) }, s *stream, when string) {
	if s.queue.Stream != was.name {
		t.Fatalf("%s: another stream was begun", when)
	}
	for n := s.queue.First(); n <= s.queue.Last(); n++ {
		got, err := s.read(n, n)
		if err != nil {
			t.Fatalf("%s: item %d of %d to %d: %v", when, n, s.queue.First(), s.queue.Last(), err)
		}
		if want, ok := was.items[n]; ok && !bytes.Equal(got[0], want) {
			t.Fatalf("%s: item %d was %.40q, and is %.40q", when, n, want, got[0])
		}
		was.items[n] = got[0]
	}
	for n := range was.items {
		if n > s.queue.Last() {
			t.Fatalf("%s: item %d was told, and the stream ends with %d", when, n, s.queue.Last())
		}
	}
}

// Wherever the power is cut, whatever of the last writes has arrived: what was numbered is there under its number, what is kept has no hole,
// and the stream goes on as the same one.
func TestStreamAfterTheLossOfPower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		limits := streamLimits{kept: int64(rapid.IntRange(200, 2000).Draw(t, "kept")), segment: int64(rapid.IntRange(50, 500).Draw(t, "segment"))}
		d := newDisk()
		var was *told
		count := 0
		for life := range rapid.IntRange(1, 6).Draw(t, "lives") {
			if life > 0 || rapid.Bool().Draw(t, "cut at once") {
				d.cutAt = rapid.IntRange(1, 25).Draw(t, "cut")
			}
			in, _ := d.open("stream")
			s, err := openStream(in, limits)
			if err == nil {
				if was == nil {
					was = &told{name: s.queue.Stream, items: map[uint64][]byte{}}
				}
				was.check(t, s, "after a start")
			}
			for range rapid.IntRange(1, 8).Draw(t, "appends") {
				if err != nil {
					break
				}
				var items [][]byte
				for range rapid.IntRange(1, 4).Draw(t, "items") {
					count++
					items = append(items, itemOf(count, rng.IntN(200)))
				}
				if err = s.append(items); err == nil {
					was.check(t, s, "after an append")
				}
			}
			if err != nil && !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "killed only") {
				d = d.kill()
			} else {
				d = d.restart(rng)
			}
		}
		in, _ := d.open("stream")
		s, err := openStream(in, limits)
		if err != nil {
			t.Fatal(err)
		}
		if was != nil {
			was.check(t, s, "at the end")
		}
	})
}

// A stream whose records are damaged is another one from then on: no number stands for two items.
func TestDamagedStreamBeginsAnew(t *testing.T) {
	for name, damage := range map[string]func(data []byte) []byte{
		"in the middle":   func(data []byte) []byte { data[itemHead+3] ^= 1; return data },
		"in a length":     func(data []byte) []byte { data[0] = 0xff; return data },
		"in the last one": func(data []byte) []byte { data[len(data)-2] ^= 1; return data },
	} {
		d := newDisk()
		in, _ := d.open("stream")
		s, err := openStream(in, streamLimits{})
		if err == nil {
			err = s.append([][]byte{itemOf(1, 20), itemOf(2, 20)})
		}
		if err != nil {
			t.Fatal(err)
		}
		node := d.folders["stream"].files[fmt.Sprintf(segmentName, 1)]
		node.data = damage(node.data)
		next, err := openStream(in, streamLimits{})
		if err != nil {
			t.Fatal(err)
		}
		if next.queue.Stream == s.queue.Stream || next.queue.Last() != 0 {
			t.Errorf("damage %s: the stream goes on after %d", name, next.queue.Last())
		}
	}
	// A segment that has gone is damage, too.
	d := newDisk()
	in, _ := d.open("stream")
	s, err := openStream(in, streamLimits{segment: 50})
	for n := range 9 {
		if err == nil {
			err = s.append([][]byte{itemOf(n, 60)})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(d.folders["stream"].files, fmt.Sprintf(segmentName, 4))
	if next, err := openStream(in, streamLimits{segment: 50}); err != nil || next.queue.Stream == s.queue.Stream {
		t.Errorf("the stream goes on without one of its segments: %v", err)
	}
}

// A host that was away for long keeps what is newest, within its limit.
func TestFullStreamKeepsTheNewest(t *testing.T) {
	d := newDisk()
	in, _ := d.open("stream")
	limits := streamLimits{kept: 10 << 10, segment: 1 << 10}
	s, err := openStream(in, limits)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 1000 {
		if err := s.append([][]byte{itemOf(n, 100)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*stream{s, reopen(t, in, limits)} {
		bytes := 0
		for _, node := range d.folders["stream"].files {
			bytes += len(node.data)
		}
		kept := s.queue.Last() - s.queue.First() + 1
		if s.queue.Last() != 1000 || kept < 50 || bytes > 13<<10 {
			t.Errorf("%d items to %d are kept, in %d bytes", kept, s.queue.Last(), bytes)
		}
		if items, err := s.read(s.queue.First(), s.queue.Last()); err != nil || uint64(len(items)) != kept {
			t.Errorf("%d of %d items can be read: %v", len(items), kept, err)
		}
	}
	if control.MaxKept != 256<<20 {
		t.Errorf("%d bytes are kept", control.MaxKept)
	}
}

func reopen(t *testing.T, in folder, limits streamLimits) *stream {
	t.Helper()
	s, err := openStream(in, limits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func FuzzStream(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0xb7, 0xb9, 0xdc, 0x20, '{'})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newDisk()
		in, _ := d.open("stream")
		if err := in.Replace(streamName, []byte("name")); err != nil {
			t.Fatal(err)
		}
		if err := in.Replace(fmt.Sprintf(segmentName, 1), data); err != nil {
			t.Fatal(err)
		}
		s, err := openStream(in, streamLimits{})
		if err != nil {
			t.Fatal(err)
		}
		if last := s.queue.Last(); last > 0 {
			if _, err := s.read(1, last); err != nil {
				t.Error(err)
			}
		}
		if err := s.append([][]byte{[]byte("{}")}); err != nil {
			t.Error(err)
		}
	})
}
