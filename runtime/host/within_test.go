package host_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
)

// sparse puts a file with a terabyte of nothing into a directory: to read it takes
// a quarter of an hour.
func sparse(t *testing.T, dir string) (size int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err == nil {
		err = errors.Join(f.Truncate(1<<40), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return 1 << 40
}

var errEnough = errors.New("enough")

// endsSoon gives an act a moment, and wants it to end with its context then.
func endsSoon(t *testing.T, name string, act func(ctx context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { stop(errEnough) })
	begun := time.Now()
	if err := act(ctx); !errors.Is(err, errEnough) {
		t.Errorf("%s: %v", name, err)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("%s goes on for %v", name, took)
	}
}

// What is long ends with its context.
func TestLongReads(t *testing.T) {
	dir := t.TempDir()
	size := sparse(t, dir)
	h := local(t, dir)
	info, err := h.Lstat("/sparse")
	if err != nil {
		t.Fatal(err)
	}
	shadow := host.NewShadow(h)
	for name, r := range map[string]host.Host{"Local": h, "Shadow": shadow} {
		endsSoon(t, name+": ReadContent", func(ctx context.Context) error {
			_, err := host.ReadContent(ctx, r, "/sparse", info)
			return err
		})
		endsSoon(t, name+": ReadTree", func(ctx context.Context) error {
			d, err := host.OpenDir(r, "/")
			if err != nil {
				return err
			}
			defer d.Close()
			_, err = host.ReadTree(ctx, d, host.TreeOptions{})
			return err
		})
	}
	endsSoon(t, "WriteFile", func(ctx context.Context) error {
		c, err := host.CopyContent(ctx, endless{h}, "/sparse", info)
		if err != nil {
			return err
		}
		return h.WriteFile(ctx, "/copy", c, host.Meta{})
	})
	if _, err := h.Lstat("/copy"); err == nil {
		t.Error("half a copy is there")
	}
	// Of another size it is not read at all.
	c, err := host.CompareContent(t.Context(), h, "/sparse", info, host.Text("x"))
	if err != nil || c.IsRead() || c.Size() != size || c.Equal(host.Text("x")) {
		t.Errorf("a file of another size is %+v, %v", c, err)
	}
	err = shadow.WriteFile(t.Context(), "/copy", c, host.Meta{})
	if info, lerr := shadow.Lstat("/copy"); err != nil || lerr != nil || info.Size != size {
		t.Errorf("a plan copies it as %+v, %v", info, errors.Join(err, lerr))
	}
}

// endless is a host whose file holds zeros without end, and none is written for long.
type endless struct{ host.Host }

func (endless) Open(string) (io.ReadCloser, error) { return zeros{}, nil }

type zeros struct{}

func (zeros) Read([]byte) (int, error) { time.Sleep(time.Millisecond); return 0, nil }
func (zeros) Close() error             { return nil }

// What has changed its size on the way is not put in place.
func TestUnreadContentIsWhole(t *testing.T) {
	h := local(t, t.TempDir())
	if err := h.WriteFile(t.Context(), "/f", host.Text("four"), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]bool{3: false, 4: true, 5: false} {
		err := h.WriteFile(t.Context(), "/g", host.Unread(size, func() (io.ReadCloser, error) { return h.Open("/f") }), host.Meta{})
		if (err == nil) != want {
			t.Errorf("of %d bytes: %v", size, err)
		}
	}
}
