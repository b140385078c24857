package modules_test

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
)

// hugeFile is a host with a sparse file of a terabyte, /srv/huge, and an archive of
// half of one.
func hugeFile(t *testing.T) host.Host {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "srv"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "srv/huge"))
	if err == nil {
		err = errors.Join(f.Truncate(1<<40), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err = os.Create(filepath.Join(dir, "srv/huge.tar"))
	if err == nil {
		err = errors.Join(tar.NewWriter(f).WriteHeader(&tar.Header{Name: "huge", Mode: 0o644, Size: 1 << 39}), f.Truncate(1<<40), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.NewLocal(host.LocalOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// look completes and reads a part.
func look(ctx context.Context, t *testing.T, h host.Host, typ string, values map[string]any) error {
	t.Helper()
	m := modules.Standard().Lookup(typ)
	for name, v := range values {
		canonical, err := m.Attribute(name).Normalize(v)
		if err != nil {
			t.Fatal(err)
		}
		values[name] = canonical
	}
	want, err := m.Decode(values, os.DirFS("/"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Complete != nil {
		if want, err = m.Complete(ctx, h, want); err != nil {
			return err
		}
	}
	_, err = m.Read(ctx, h, want)
	return err
}

// What is large is read only where that decides something, and no longer than somebody
// waits for it.
func TestHugeFiles(t *testing.T) {
	h := hugeFile(t)
	sum := "sha256:" + strings.Repeat("0", 64)
	enough := errors.New("enough")
	for name, test := range map[string]struct {
		typ    string
		values map[string]any
		reads  bool // so that only the end of the context ends it
	}{
		"another size":   {"file", map[string]any{"path": "/srv/huge", "content": "x"}, false},
		"no content":     {"file", map[string]any{"path": "/srv/huge", "mode": "0600"}, false},
		"line":           {"line", map[string]any{"path": "/srv/huge", "line": "x"}, false},
		"block":          {"marked_block", map[string]any{"path": "/srv/huge", "name": "n", "content": "x"}, false},
		"download":       {"download", map[string]any{"path": "/srv/huge", "url": "http://127.0.0.1:1/x", "checksum": sum}, true},
		"sum unknown":    {"download", map[string]any{"path": "/srv/huge", "url": "http://127.0.0.1:1/x"}, true},
		"archive":        {"archive", map[string]any{"path": "/srv/out", "file": "/srv/huge.tar", "limit": json.Number("1099511627776")}, true},
		"directory tree": {"directory", map[string]any{"path": "/srv", "recurse": true, "owner": "0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			defer time.AfterFunc(200*time.Millisecond, func() { stop(enough) }).Stop()
			begun := time.Now()
			err := look(ctx, t, h, test.typ, test.values)
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("it takes %v", took)
			}
			if errors.Is(err, enough) != test.reads {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}
