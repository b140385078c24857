// Package contentstest is the suite that each store of contents passes.
package contentstest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server/contents"
)

// Run runs the suite, each part with a new store.
func Run(t *testing.T, open func(testing.TB) contents.Store) {
	for name, test := range map[string]func(*testing.T, contents.Store){"sizes": sizes, "refused": refused, "at once": atOnce, "put again": putAgain} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// data has no two pieces that are the same.
func data(n int) []byte {
	out := make([]byte, n)
	x := uint32(n) + 1
	for i := range out {
		x = x*1664525 + 1013904223
		out[i] = byte(x >> 24)
	}
	return out
}

func read(t testing.TB, s contents.Store, d contents.Digest, offset int64) (all []byte, size int64) {
	t.Helper()
	r, size, err := s.Open(context.Background(), d, offset)
	must(t, err)
	all, err = io.ReadAll(r)
	must(t, errors.Join(err, r.Close()))
	return all, size
}

func list(t testing.TB, s contents.Store) map[contents.Digest]int64 {
	t.Helper()
	all := map[contents.Digest]int64{}
	must(t, s.List(context.Background(), func(i contents.Info) error {
		if i.At.IsZero() {
			t.Error("without a time")
		}
		all[i.Digest] = i.Size
		return nil
	}))
	return all
}

func sizes(t *testing.T, s contents.Store) {
	ctx := context.Background()
	all := []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3<<20 + 5}
	for _, n := range all {
		content := data(n)
		d := contents.Sum(content)
		if _, _, err := s.Open(ctx, d, 0); !errors.Is(err, contents.ErrNone) {
			t.Errorf("before it is there: %v", err)
		}
		must(t, s.Put(ctx, d, bytes.NewReader(content)))
		must(t, s.Put(ctx, d, nil)) // is not read
		for _, offset := range []int{0, 1, n / 2, 1 << 20, n - 1, n} {
			if offset < 0 || offset > n {
				continue
			}
			if got, size := read(t, s, d, int64(offset)); !bytes.Equal(got, content[offset:]) || size != int64(n) {
				t.Errorf("%d bytes from %d: %d bytes of %d", n, offset, len(got), size)
			}
		}
		for _, offset := range []int64{-1, int64(n) + 1} {
			if _, _, err := s.Open(ctx, d, offset); err == nil {
				t.Errorf("%d bytes from %d on", n, offset)
			}
		}
	}
	if got := list(t, s); len(got) != len(all) || got[contents.Sum(data(1))] != 1 {
		t.Errorf("there are %v", got)
	}
	own := errors.New("enough")
	if err := s.List(ctx, func(contents.Info) error { return own }); !errors.Is(err, own) {
		t.Error(err)
	}
	later := time.Now().Add(time.Hour)
	must(t, s.Remove(ctx, contents.Sum(data(1)), later))
	must(t, s.Remove(ctx, contents.Sum(data(1)), later))
	if got := list(t, s); len(got) != len(all)-1 {
		t.Errorf("there are %v", got)
	}
}

// failing gives some of a content, and then fails.
type failing struct {
	io.Reader
	err error
}

func (f failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

func refused(t *testing.T, s contents.Store) {
	ctx, content := context.Background(), data(2<<20)
	d := contents.Sum(content)
	own := errors.New("cut off")
	for what, err := range map[string]error{
		"less":    s.Put(ctx, d, bytes.NewReader(content[1:])),
		"nothing": s.Put(ctx, d, bytes.NewReader(nil)),
		"more":    s.Put(ctx, d, bytes.NewReader(append(bytes.Clone(content), 0))),
		"other":   s.Put(ctx, d, bytes.NewReader(data(2<<20 + 1)[1:])),
	} {
		if !errors.Is(err, contents.ErrOther) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Put(ctx, d, failing{bytes.NewReader(content), own}); !errors.Is(err, own) {
		t.Error(err)
	}
	ended, cancel := context.WithCancelCause(ctx)
	cancel(own)
	if err := s.Put(ended, d, bytes.NewReader(content)); !errors.Is(err, own) {
		t.Error(err)
	}
	for _, name := range []string{"", "x", "../../../etc/passwd", strings.ToUpper(string(d)), string(d) + "0", string(d[:62]) + "/.", string(d[:63]), string(d) + "\n"} {
		bad := contents.Digest(name)
		_, _, err := s.Open(ctx, bad, 0)
		for _, err := range []error{err, s.Put(ctx, bad, bytes.NewReader(content)), s.Remove(ctx, bad, time.Now())} {
			if err == nil || !strings.Contains(err.Error(), "is no digest") {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	if got := list(t, s); len(got) != 0 {
		t.Errorf("there are %v", got)
	}
}

// What is put again is not removed by who has looked at it before, whatever its age was then.
func putAgain(t *testing.T, s contents.Store) {
	ctx, content := context.Background(), data(1000)
	d := contents.Sum(content)
	must(t, s.Put(ctx, d, bytes.NewReader(content)))
	looked := time.Now()
	must(t, s.Put(ctx, d, nil))
	must(t, s.Remove(ctx, d, looked))
	if got, _ := read(t, s, d, 0); !bytes.Equal(got, content) {
		t.Error("it is another content")
	}
	must(t, s.List(ctx, func(i contents.Info) error {
		if i.At.Before(looked.Truncate(time.Microsecond)) { // as it is kept
			t.Errorf("it counts as put at %v, before %v", i.At, looked)
		}
		return nil
	}))
	must(t, s.Remove(ctx, d, time.Now().Add(time.Second)))
	if _, _, err := s.Open(ctx, d, 0); !errors.Is(err, contents.ErrNone) {
		t.Errorf("it is still there: %v", err)
	}
}

// Many that put the same, some of whom lie or give up, leave the one that is right.
func atOnce(t *testing.T, s contents.Store) {
	ctx, content := context.Background(), data(2<<20)
	d := contents.Sum(content)
	var all fault.Group
	for i := range 9 {
		all.Go(func() {
			reader, want := io.Reader(bytes.NewReader(content)), error(nil)
			switch i % 3 {
			case 1:
				lie := bytes.Clone(content)
				lie[i*1000]++
				reader, want = bytes.NewReader(lie), contents.ErrOther
			case 2:
				want = errors.New("cut off")
				reader = failing{bytes.NewReader(content[:1<<20]), want}
			}
			if err := s.Put(ctx, d, reader); !errors.Is(err, want) && err != nil { // nil: another one was faster
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, _ := read(t, s, d, 0); !bytes.Equal(got, content) {
		t.Error("it is another content")
	}
}
