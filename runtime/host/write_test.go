package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// stream makes content that does not stand in memory.
func stream(text string, open func() (io.ReadCloser, error)) host.Content {
	sum := sha256.Sum256([]byte(text))
	return host.Stream(int64(len(text)), hex.EncodeToString(sum[:]), open)
}

func reading(text string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

// Content that cannot be had, or is not what it was, leaves the old file and
// nothing else.
func TestWriteFileFails(t *testing.T) {
	broken := errors.New("broken")
	text := strings.Repeat("text", 50_000)
	ctx, cancel := context.WithCancelCause(context.Background())
	stopped := errors.New("stopped")
	late, cancelLate := context.WithCancelCause(context.Background())
	for name, c := range map[string]struct {
		ctx     context.Context
		content host.Content
		want    string
	}{
		"cannot be opened": {t.Context(), stream(text, func() (io.ReadCloser, error) { return nil, broken }), "broken"},
		"not at hand":      {t.Context(), stream(text, nil), "is not at hand"},
		"cannot be read": {t.Context(), stream(text, func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(text[:70_000]), errorReader{broken})), nil
		}), "broken"},
		"too short": {t.Context(), stream(text, reading(text[1:])), "is not what it was"},
		"too long":  {t.Context(), stream(text, reading(text+"x")), "is not what it was"},
		"another":   {t.Context(), stream(text, reading("T"+text[1:])), "is not what it was"},
		"cancelled": {ctx, stream(text, func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(text[:70_000]), cancelReader{cancel, stopped}, strings.NewReader(text))), nil
		}), "stopped"},
		"cancelled at the end": {late, stream(text, func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(text), cancelReader{cancelLate, stopped})), nil
		}), "stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := local(t, dir)
			m := host.NewMemory()
			for _, h := range []host.Host{l, m} {
				if err := h.WriteFile(t.Context(), "/f", host.Text("old"), host.Meta{}); err != nil {
					t.Fatal(err)
				}
				before := listing(h, "/")
				err := h.WriteFile(c.ctx, "/f", c.content, host.Meta{})
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "/f") {
					t.Errorf("error %v", err)
				}
				if after := listing(h, "/"); after != before {
					t.Errorf("%s became %s", before, after)
				}
			}
		})
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// cancelReader cancels, and is at its end.
type cancelReader struct {
	cancel context.CancelCauseFunc
	cause  error
}

func (r cancelReader) Read([]byte) (int, error) { r.cancel(r.cause); return 0, io.EOF }

// A write that the kernel refuses in its middle leaves nothing. The limit on
// the size of a file stands for a full disk: both end write(2) with an error
// after a part was written.
func TestWriteFileNoRoom(t *testing.T) {
	dir := t.TempDir()
	c := command("limited", dir)
	r := run(t, c)
	if r.ExitCode != 0 {
		t.Errorf("%s%s", r.Stdout, r.Stderr)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "f")); string(data) != "old" {
		t.Errorf("the file holds %d bytes, %v", len(data), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// limited is a program that may write no large files.
func limited(dir string) error {
	limit := syscall.Rlimit{Cur: 100_000, Max: 100_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	l, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		return err
	}
	ctx := context.Background()
	path := filepath.Join(dir, "f")
	if err := l.WriteFile(ctx, path, host.Text("old"), host.Meta{}); err != nil {
		return err
	}
	for _, c := range []host.Content{
		host.Text(strings.Repeat("x", 200_000)),
		stream(strings.Repeat("x", 200_000), reading(strings.Repeat("x", 200_000))),
	} {
		if err := l.WriteFile(ctx, path, c, host.Meta{}); !errors.Is(err, syscall.EFBIG) {
			return errors.Join(errors.New("no EFBIG, but"), err)
		}
	}
	return nil
}

func TestSync(t *testing.T) {
	l := local(t, "")
	path := filepath.Join(t.TempDir(), "d")
	for _, err := range []error{
		l.Sync(), l.Mkdir(path, host.Meta{}), l.Sync(),
		l.WriteFile(t.Context(), path+"/f", host.Text("x"), host.Meta{}),
		l.Remove(path + "/f"), l.Remove(path), l.Sync(), // the directory has gone
		l.SyncAll(),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

// A large file of a shadow is what it was when it was read, also when it is
// written over by itself.
func TestLargeContentOfShadow(t *testing.T) {
	m := host.NewMemory()
	large := bytes.Repeat([]byte("0123456789abcdef"), host.InlineLimit/8)
	if err := m.Add("/f", string(large)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*host.Shadow{host.NewShadow(m), host.NewShadow(m).Fork()} {
		info, err := s.Lstat("/f")
		if err != nil {
			t.Fatal(err)
		}
		c, err := host.ReadContent(t.Context(), s, "/f", info)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/f", "/g"} {
			if err := s.WriteFile(t.Context(), path, c, host.Meta{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Remove("/f"); err != nil {
			t.Fatal(err)
		}
		if text, err := read(s, "/g"); text != string(large) {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	}
}
