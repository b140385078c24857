package moduletest_test

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules/download"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const (
	downloadFrom = "http://example.test"
	downloadTool = "/usr/local/bin/tool"
	downloadText = "#!/bin/sh\n"
)

func sum256(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func sum512(text string) string {
	sum := sha512.Sum512([]byte(text))
	return hex.EncodeToString(sum[:])
}

func answers() []fake.Answer {
	return []fake.Answer{
		{URL: downloadFrom + "/tool", Body: downloadText},
		{URL: downloadFrom + "/tool-v2", Body: "two\n", Header: map[string]string{"ETag": `"2"`}},
		{URL: downloadFrom + "/dated", Body: "two\n", Header: map[string]string{"Last-Modified": "Fri, 20 Nov 2026 10:00:00 GMT"}},
		{URL: downloadFrom + "/broken", Status: 500},
		{URL: downloadFrom + "/SHA256SUMS", Body: sum256("x") + "  other\n" + sum256(downloadText) + " *tool\n"},
		{URL: downloadFrom + "/BSD", Body: "SHA512 (./tool) = " + strings.ToUpper(sum512(downloadText)) + "\n"},
		{URL: downloadFrom + "/alone", Body: sum256(downloadText) + "\n"},
		{URL: downloadFrom + "/two", Body: sum256(downloadText) + "  tool\n" + sum256("x") + "  tool\n"},
	}
}

func newDownloadHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Network(h, answers())
	return h
}

// downloadValues are those of the tool, with others.
func downloadValues(more map[string]any) map[string]any {
	v := map[string]any{"path": downloadTool, "url": downloadFrom + "/tool"}
	maps.Copy(v, more)
	return v
}

func downloadThere(content string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Put(t, h, downloadTool, content, 0o640) }
}

func downloadHolds(content string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is := fake.Text(h, downloadTool); is != content {
			t.Errorf("the file holds %q, want %q", is, content)
		}
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	good := "sha256:" + sum256(downloadText)
	statestest.Run(t, statestest.Suite{
		Module: download.Module, Host: newDownloadHost,
		Hostile: downloadValues(map[string]any{"checksum": good, "headers": map[string]string{"Accept": "*/*"}, "mirrors": []string{downloadFrom + "/tool"}}),
		Cases: []statestest.Case{
			{
				Name: "create", Values: downloadValues(map[string]any{"checksum": good, "owner": "alice", "group": "adm", "mode": "0755"}),
				Action: states.Create, Changes: []string{"checksum", "owner", "group", "mode"}, Check: downloadHolds(downloadText),
			}, {
				Name: "create without a checksum", Values: downloadValues(nil),
				Action: states.Create, Changes: []string{"mode"}, Check: downloadHolds(downloadText),
			}, {
				Name: "another content", Prepare: downloadThere("old"), Values: downloadValues(map[string]any{"checksum": "sha512:" + sum512(downloadText)}),
				Action: states.Update, Changes: []string{"checksum"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if info, err := h.Lstat(downloadTool); err != nil || info.Mode != 0o640 {
						t.Errorf("the file is %+v, %v", info, err)
					}
				},
			}, {
				Name: "the program of another account", Prepare: func(t *testing.T, h host.Host) {
					downloadThere(downloadText)(t, h)
					fake.Alice(t, h, downloadTool, 0o775|fs.ModeSetuid)
				}, Values: downloadValues(map[string]any{"checksum": good, "owner": "root"}),
				Action: states.Update, Changes: []string{"owner", "mode"}, Check: fake.HasMode(downloadTool, 0, 0o755),
			}, {
				Name: "another version", Prepare: downloadThere("old"), Values: downloadValues(map[string]any{"url": downloadFrom + "/tool-v2"}),
				Action: states.Update, Changes: []string{"checksum"}, Check: downloadHolds("two\n"),
			}, {
				Name: "another mode and owner", Prepare: downloadThere(downloadText), Values: downloadValues(map[string]any{"checksum": good, "mode": "0755", "owner": "alice"}),
				Action: states.Update, Changes: []string{"owner", "mode"},
			},
			{Name: "nothing to do, and nobody asked", Prepare: downloadThere(downloadText), Values: downloadValues(map[string]any{"url": "http://none.test/x", "checksum": good})},
			{Name: "nothing to do, by its content", Prepare: downloadThere(downloadText), Values: downloadValues(nil)},
			{Name: "a mirror", Values: downloadValues(map[string]any{"url": downloadFrom + "/broken", "mirrors": []string{"http://none.test/", downloadFrom + "/tool"}}),
				Action: states.Create, Changes: []string{"mode"}, Check: downloadHolds(downloadText)},
			{Name: "a list of checksums", Values: downloadValues(map[string]any{"checksum": downloadFrom + "/SHA256SUMS"}),
				Action: states.Create, Changes: []string{"checksum", "mode"}, Check: downloadHolds(downloadText)},
			{Name: "a list as BSD has it", Prepare: downloadThere("old"), Values: downloadValues(map[string]any{"checksum": downloadFrom + "/BSD"}),
				Action: states.Update, Changes: []string{"checksum"}, Check: downloadHolds(downloadText)},
			{Name: "a checksum alone", Prepare: downloadThere(downloadText), Values: downloadValues(map[string]any{"checksum": downloadFrom + "/alone"})},
			{Name: "absent", Ensure: states.Absent, Prepare: downloadThere(downloadText), Values: map[string]any{"path": downloadTool}, Action: states.Remove, Changes: []string{"mode"}},
		},
	})
}

func TestDownloadFails(t *testing.T) {
	t.Parallel()
	bad := "sha256:" + sum256("another")
	statestest.Run(t, statestest.Suite{Module: download.Module, Host: newDownloadHost, Cases: []statestest.Case{
		{Name: "another file", Values: downloadValues(map[string]any{"checksum": bad}), OnlyOnHost: true,
			Fails: "http://example.test/tool is not the file that it should be: its checksum is sha256:" + sum256(downloadText)},
		{Name: "another file, and one is there", Prepare: downloadThere("old"), Values: downloadValues(map[string]any{"checksum": bad}), OnlyOnHost: true, Fails: "not the file that it should be"},
		{Name: "too large", Values: downloadValues(map[string]any{"max_size": 3}), OnlyOnHost: true, Fails: "larger than max_size, 3 bytes"},
		{Name: "too large to compare", Prepare: downloadThere("old"), Values: downloadValues(map[string]any{"max_size": 3}), Fails: "larger than max_size, 3 bytes"},
		{Name: "another status", Values: downloadValues(map[string]any{"url": downloadFrom + "/broken", "mirrors": []string{"http://none.test/"}}),
			Fails: "http://example.test/broken was answered by status 500, not 200\nGET http://none.test/: the simulated network has nobody there"},
		{Name: "no such list", Values: downloadValues(map[string]any{"checksum": downloadFrom + "/broken"}), Fails: "the list of checksums: status 500, not 200"},
		{Name: "not in the list", Values: downloadValues(map[string]any{"url": downloadFrom + "/tool-v2", "checksum": downloadFrom + "/SHA256SUMS"}), Fails: "has none for tool-v2"},
		{Name: "twice in the list", Values: downloadValues(map[string]any{"checksum": downloadFrom + "/two"}), Fails: "has several for tool"},
		{Name: "missing directory", Values: map[string]any{"path": "/none/x", "url": downloadFrom + "/tool"}, Fails: "the directory /none is not there", Hint: `directory "/none" {}`},
		{Name: "a directory", Values: map[string]any{"path": "/srv", "url": downloadFrom + "/tool"}, Fails: "/srv is a directory, not a file"},
		{Name: "a link", Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/etc/passwd", downloadTool) },
			Values: downloadValues(map[string]any{"checksum": bad}), Fails: "is a symlink, not a file"},
		{Name: "unknown owner", Values: downloadValues(map[string]any{"checksum": bad, "owner": "nobody-here"}), Fails: "no user named"},
		{Name: "no checksum", Values: downloadValues(map[string]any{"checksum": "sha256:abc"}), Wrong: "is no checksum"},
		{Name: "md5", Values: downloadValues(map[string]any{"checksum": "md5:d41d8cd98f00b204e9800998ecf8427e"}), Wrong: "is no checksum"},
		{Name: "no URL", Values: downloadValues(map[string]any{"url": "ftp://example.test/tool"}), Wrong: "no URL of http or https"},
		{Name: "no mirror", Values: downloadValues(map[string]any{"mirrors": []string{"/tool"}}), Wrong: "no URL of http or https"},
		{Name: "no size", Values: downloadValues(map[string]any{"max_size": -1}), Wrong: "less than 0"},
		{Name: "root", Values: downloadValues(map[string]any{"path": "/"}), Wrong: "is a directory"},
	}})
}

// asked counts the bytes that are fetched.
type asked struct {
	host.Network
	bytes int
}

func (a *asked) Fetch(ctx context.Context, r host.Request) (*host.Response, error) {
	answer, err := a.Network.Fetch(ctx, r)
	if err == nil {
		answer.Body = counted{answer.Body, a}
	}
	return answer, err
}

type counted struct {
	io.ReadCloser
	by *asked
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.by.bytes += n
	return n, err
}

// The server's word counts for the version that it was about: not after an edit, nor
// for another URL.
func TestDownloadOfVersions(t *testing.T) {
	t.Parallel()
	for _, url := range []string{downloadFrom + "/tool-v2", downloadFrom + "/dated"} {
		h := fake.Host(t)
		fake.Network(h, answers())
		n, err := h.Network()
		if err != nil {
			t.Fatal(err)
		}
		counter := &asked{Network: n}
		h.SetNetwork(counter)
		carryOut := func(url string) (changed bool, bytes int) {
			counter.bytes = 0
			m, ctx := download.Module, t.Context()
			want, err := m.Decode(map[string]any{"path": downloadTool, "url": url}, nil)
			if err == nil {
				want, err = m.Complete(ctx, h, want)
			}
			var have any
			if err == nil {
				have, err = m.Read(ctx, h, want)
			}
			if err != nil {
				t.Fatal(err)
			}
			want = m.Fill(have, want)
			if changed = have == nil || len(m.Diff(have, want)) > 0; changed {
				if err := m.Write(ctx, h, have, want); err != nil {
					t.Fatal(err)
				}
			}
			return changed, counter.bytes
		}
		for i, c := range []struct {
			url     string
			edit    string
			changed bool
			bytes   int
		}{
			{url, "", true, 4},        // created
			{url, "", false, 0},       // nothing new
			{url, "by hand", true, 8}, // compared, and put back
			{url, "", false, 0},       //
			{downloadFrom + "/tool", "", true, 2 * len(downloadText)}, // another source
			{url, "", true, 8}, //
		} {
			if c.edit != "" {
				fake.Put(t, h, downloadTool, c.edit, 0o644)
			}
			if changed, bytes := carryOut(c.url); changed != c.changed || bytes != c.bytes {
				t.Errorf("%s, %d: changed %v, %d bytes, want %v, %d", url, i, changed, bytes, c.changed, c.bytes)
			}
		}
	}
}

// On a real file system a download is put in place whole, or not at all.
func TestDownloadOfLocal(t *testing.T) {
	t.Parallel()
	l, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	memory := fake.Host(t)
	fake.Network(memory, answers())
	h := connected{l, memory}
	carryOut := func(values map[string]any) error {
		want, err := download.Module.Decode(values, nil)
		if err != nil {
			t.Fatal(err)
		}
		return download.Module.Write(t.Context(), h, nil, want)
	}
	if err := carryOut(map[string]any{"path": "/tool", "url": downloadFrom + "/tool", "checksum": "sha256:" + sum256("x")}); err == nil {
		t.Error("another file is put in place")
	}
	if entries, err := h.ReadDir("/"); err != nil || len(entries) > 0 {
		t.Errorf("it leaves %v, %v", entries, err)
	}
	if err := carryOut(map[string]any{"path": "/tool", "url": downloadFrom + "/tool", "checksum": "sha256:" + sum256(downloadText), "mode": "0755"}); err != nil {
		t.Error(err)
	}
	if is := fake.Text(h, "/tool"); is != downloadText {
		t.Errorf("the file holds %q", is)
	}
}

// connected is a tree below a root with a network of its own.
type connected struct {
	*host.Local
	memory *host.Memory
}

func (c connected) Network() (host.Network, error) { return c.memory.Network() }

// A transfer that breaks goes on where it was, if it is known to be the same file.
func TestDownloadGoesOn(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789abcdef", 20_000)
	for name, c := range map[string]struct {
		etags    []string // of one request after the other; the last one of all further
		ranges   string   // Accept-Ranges, if it is not what the server does
		lies     bool     // the rest is of another place
		short    bool     // the rest is not all of it
		checksum bool
		requests int
		fails    string
	}{
		"by its ETag":           {etags: []string{`"a"`}, requests: 2},
		"by its checksum":       {etags: []string{""}, checksum: true, requests: 2},
		"by neither":            {etags: []string{""}, requests: 1, fails: "EOF"},
		"a weak ETag":           {etags: []string{`W/"a"`}, requests: 1, fails: "EOF"},
		"another version":       {etags: []string{`"a"`, `"b"`}, requests: 2, fails: "EOF"},
		"another place":         {etags: []string{`"a"`}, lies: true, requests: 2, fails: "EOF"},
		"not all of the rest":   {etags: []string{`"a"`}, short: true, requests: 2, fails: "EOF"},
		"a server that cannot":  {etags: []string{`"a"`}, ranges: "none", requests: 1, fails: "EOF"},
		"another, and checksum": {etags: []string{`"a"`, `"b"`}, checksum: true, requests: 2, fails: "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				number := int(requests.Add(1))
				if tag := c.etags[min(number, len(c.etags))-1]; tag != "" {
					w.Header().Set("ETag", tag)
				}
				if number > 1 {
					if c.lies {
						r.Header.Set("Range", "bytes=1-")
					}
					if c.short {
						r.Header.Set("Range", r.Header.Get("Range")+"150000")
					}
					http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
					return
				}
				if c.ranges != "" {
					w.Header().Set("Accept-Ranges", c.ranges)
				}
				w.Header().Set("Content-Length", strconv.Itoa(len(content)))
				_, _ = io.WriteString(w, content[:100_000])
				panic(http.ErrAbortHandler) // the connection breaks
			}))
			defer server.Close()
			h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			values := map[string]any{"path": "/tool", "url": server.URL}
			if c.checksum {
				values["checksum"] = "sha256:" + sum256(content)
			}
			want, err := download.Module.Decode(values, nil)
			if err == nil {
				err = download.Module.Write(t.Context(), h, nil, want)
			}
			if c.fails == "" && (err != nil || fake.Text(h, "/tool") != content) {
				t.Errorf("%v", err)
			}
			if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || fake.Exists(h, "/tool")) {
				t.Errorf("%v, want %q", err, c.fails)
			}
			if n := int(requests.Load()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
}
