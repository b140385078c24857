package become_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/become"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/hosttest"
)

func local(t testing.TB, root string) *host.Local {
	t.Helper()
	l, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// served is a host as another process would serve it.
func served(t testing.TB, h host.Host) host.Host {
	t.Helper()
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- become.Serve(context.Background(), theirs, theirs, h) }()
	t.Cleanup(func() {
		ours.Close()
		if err := <-ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	m, err := become.Connect(ours, ours, h)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) {
	for name, open := range map[string]hosttest.Open{
		"Local below root": func(t *testing.T) (host.Host, string) { return served(t, local(t, t.TempDir())), "/" },
		"Local in a run": func(t *testing.T) (host.Host, string) {
			return served(t, local(t, "")).(host.Runner).ForRun("r1"), t.TempDir()
		},
		"Shadow": func(t *testing.T) (host.Host, string) { return host.NewShadow(served(t, host.NewMemory())), "/" },
	} {
		t.Run(name, func(t *testing.T) { hosttest.Run(t, open) })
	}
}

func TestProgram(t *testing.T) {
	h := served(t, local(t, ""))
	var seen strings.Builder
	r, err := h.Run(t.Context(), host.Command{
		Argv: []string{"sh", "-c", `cat; echo "$A" >&2; exit 3`}, Env: []string{"A=b\xff"}, Stdin: []byte("in\x00"), Dir: "/",
		Watch: func(stream string, data []byte) {
			if stream == "stdout" {
				seen.Write(data)
			}
		},
	})
	if err != nil || r.ExitCode != 3 || string(r.Stdout) != "in\x00" || string(r.Stderr) != "b\xff\n" || seen.String() != "in\x00" {
		t.Errorf("%+v, %v, seen %q", r, err, seen.String())
	}
	if _, err := h.Run(t.Context(), host.Command{Argv: []string{"there-is-no-such-program"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	large, err := h.Query(t.Context(), host.Query{Command: host.Command{Argv: []string{"head", "-c", "900000", "/dev/zero"}}})
	if err != nil || len(large.Stdout) != 900000 {
		t.Errorf("%d bytes, %v", len(large.Stdout), err)
	}
}

// TestCancel: what is cancelled ends there too, and says why.
func TestCancel(t *testing.T) {
	h := served(t, local(t, ""))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	started := make(chan bool, 1)
	go func() {
		<-started
		cancel(why)
	}()
	_, err := h.Run(ctx, host.Command{Argv: []string{"sh", "-c", "echo x; exec sleep 60"}, Watch: func(string, []byte) { started <- true }})
	if !errors.Is(err, why) {
		t.Errorf("it ended with %v", err)
	}
	if err := h.WriteFile(ctx, filepath.Join(t.TempDir(), "x"), host.Text("x"), host.Meta{}); !errors.Is(err, why) {
		t.Errorf("a file: %v", err)
	}
}

// TestContent: a large content goes in pieces, and one that is wrong is not put there.
func TestContent(t *testing.T) {
	h := served(t, local(t, ""))
	dir := t.TempDir()
	big := strings.Repeat("0123456789", 200_000)
	path := filepath.Join(dir, "big")
	gone := errors.New("gone")
	streamed := func(text string, err error) host.Content {
		return host.Stream(int64(len(big)), host.Text(big).Sum(), func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(text), &failing{err})), nil
		})
	}
	if err := h.WriteFile(t.Context(), path, streamed(big[:1000], gone), host.Meta{}); !errors.Is(err, gone) {
		t.Errorf("one that cannot be read: %v", err)
	}
	if err := h.WriteFile(t.Context(), path, streamed(big[:len(big)-1]+"x", io.EOF), host.Meta{}); err == nil {
		t.Error("another content is put there")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	for _, c := range []host.Content{host.Text(big), streamed(big, io.EOF), host.Flow(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(big)), nil })} {
		if err := h.WriteFile(t.Context(), path, c, host.Meta{}); err != nil {
			t.Fatal(err)
		}
		info, err := h.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		back, err := host.ReadContent(t.Context(), h, path, info)
		if err != nil || back.Size() != int64(len(big)) || back.Sum() != host.Text(big).Sum() {
			t.Errorf("%d bytes, %v", back.Size(), err)
		}
		if err := h.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestOddNames: names of files are bytes.
func TestOddNames(t *testing.T) {
	h := served(t, local(t, ""))
	dir := t.TempDir()
	odd := "a\xff\n\x01ä"
	if err := h.Symlink("t\xfe", filepath.Join(dir, odd), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	list, err := h.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name != odd {
		t.Errorf("%q, %v", list, err)
	}
	if target, err := h.ReadLink(filepath.Join(dir, odd)); err != nil || target != "t\xfe" {
		t.Errorf("%q, %v", target, err)
	}
	_, err = h.Lstat(filepath.Join(dir, "\xfe"))
	at, ok := errors.AsType[*fs.PathError](err)
	if !ok || at.Path != filepath.Join(dir, "\xfe") || at.Err != syscall.ENOENT {
		t.Errorf("%#v", err)
	}
}

// TestNoFollow: no link is followed where none must be.
func TestNoFollow(t *testing.T) {
	h := served(t, local(t, ""))
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "link", "x")
	if err := host.NoFollow(h).WriteFile(t.Context(), path, host.Text("x"), host.Meta{}); !host.IsLink(err) {
		t.Errorf("through a link: %v", err)
	}
	if err := h.WriteFile(t.Context(), path, host.Text("x"), host.Meta{}); err != nil {
		t.Error(err)
	}
}

func TestTree(t *testing.T) {
	h := served(t, local(t, ""))
	dir := t.TempDir()
	d, err := host.OpenDir(h, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := errors.Join(d.Mkdir("sub", host.Meta{}), d.Symlink("sub", "link", host.Meta{})); err != nil {
		t.Fatal(err)
	}
	sub, err := d.Enter("sub")
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.WriteFile(t.Context(), "f", host.Text("text"), host.Meta{}, true); err != nil {
		t.Fatal(err)
	}
	entries, err := host.ReadTree(t.Context(), d, host.TreeOptions{})
	if err != nil || len(entries) != 4 || entries[3].Name != "sub/f" || entries[3].SHA256 != host.Text("text").Sum() {
		t.Errorf("%+v, %v", entries, err)
	}
	if _, err := d.Enter("link"); err == nil {
		t.Error("a link is entered")
	}
	if err := errors.Join(sub.Remove("f"), sub.Close(), d.Remove("sub")); err != nil {
		t.Error(err)
	}
}

// TestEnded: when the other process has gone, every call says so.
func TestEnded(t *testing.T) {
	ours, theirs := net.Pipe()
	go become.Serve(t.Context(), theirs, theirs, local(t, ""))
	h, err := become.Connect(ours, ours, local(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	begun := make(chan bool, 1)
	go func() {
		_, err := h.Run(context.Background(), host.Command{Argv: []string{"sh", "-c", "echo x; exec sleep 60"}, Watch: func(string, []byte) { begun <- true }})
		waiting <- err
	}()
	<-begun
	ours.Close()
	if err := <-waiting; err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("who waits is told %v", err)
	}
	if _, err := h.Lstat("/"); err == nil {
		t.Error("a call goes well")
	}
}

// TestLies: whoever serves may send what it likes.
func TestLies(t *testing.T) {
	for _, lie := range []string{"", "\x00\x00\x00\x00h", "\x00\x00\x00\x01h{", "\xff\xff\xff\xffh", "\x00\x00\x00\x02h{}\x00\x00\x00\x03r\x00\x00\x00"} {
		ours, theirs := net.Pipe()
		go func() {
			io.WriteString(theirs, lie)
			theirs.Close()
		}()
		h, err := become.Connect(ours, ours, local(t, ""))
		if err != nil {
			continue
		}
		if _, err := h.Lstat("/"); err == nil {
			t.Errorf("%q is believed", lie)
		}
		ours.Close()
	}
}

// What another account's machine can do, and who it is, is what it itself answers.
func TestCapabilities(t *testing.T) {
	hosttest.Capabilities(t, func(t *testing.T, h host.Host) host.Host { return served(t, h) })
}

func TestAttributes(t *testing.T) {
	hosttest.Attributes(t, func(t *testing.T) (host.Host, string, string) {
		dir := t.TempDir()
		return served(t, local(t, dir)), "/", dir
	})
}
