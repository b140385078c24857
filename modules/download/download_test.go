package download_test

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
	from = "http://example.test"
	tool = "/usr/local/bin/tool"
	text = "#!/bin/sh\n"
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
		{URL: from + "/tool", Body: text},
		{URL: from + "/tool-v2", Body: "two\n", Header: map[string]string{"ETag": `"2"`}},
		{URL: from + "/dated", Body: "two\n", Header: map[string]string{"Last-Modified": "Fri, 20 Nov 2026 10:00:00 GMT"}},
		{URL: from + "/broken", Status: 500},
		{URL: from + "/SHA256SUMS", Body: sum256("x") + "  other\n" + sum256(text) + " *tool\n"},
		{URL: from + "/BSD", Body: "SHA512 (./tool) = " + strings.ToUpper(sum512(text)) + "\n"},
		{URL: from + "/alone", Body: sum256(text) + "\n"},
		{URL: from + "/two", Body: sum256(text) + "  tool\n" + sum256("x") + "  tool\n"},
	}
}

func newHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Network(h, answers())
	return h
}

// values are those of the tool, with others.
func values(more map[string]any) map[string]any {
	v := map[string]any{"path": tool, "url": from + "/tool"}
	maps.Copy(v, more)
	return v
}

func there(content string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Put(t, h, tool, content, 0o640) }
}

func holds(content string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is := fake.Text(h, tool); is != content {
			t.Errorf("the file holds %q, want %q", is, content)
		}
	}
}

func TestDownload(t *testing.T) {
	good := "sha256:" + sum256(text)
	statestest.Run(t, statestest.Suite{
		Module: download.Module, Host: newHost,
		Hostile: values(map[string]any{"checksum": good, "headers": map[string]string{"Accept": "*/*"}, "mirrors": []string{from + "/tool"}}),
		Cases: []statestest.Case{
			{
				Name: "create", Values: values(map[string]any{"checksum": good, "owner": "alice", "group": "adm", "mode": "0755"}),
				Action: states.Create, Changes: []string{"checksum", "owner", "group", "mode"}, Check: holds(text),
			}, {
				Name: "create without a checksum", Values: values(nil),
				Action: states.Create, Changes: []string{"mode"}, Check: holds(text),
			}, {
				Name: "another content", Prepare: there("old"), Values: values(map[string]any{"checksum": "sha512:" + sum512(text)}),
				Action: states.Update, Changes: []string{"checksum"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if info, err := h.Lstat(tool); err != nil || info.Mode != 0o640 {
						t.Errorf("the file is %+v, %v", info, err)
					}
				},
			}, {
				Name: "the program of another account", Prepare: func(t *testing.T, h host.Host) {
					there(text)(t, h)
					fake.Alice(t, h, tool, 0o775|fs.ModeSetuid)
				}, Values: values(map[string]any{"checksum": good, "owner": "root"}),
				Action: states.Update, Changes: []string{"owner", "mode"}, Check: fake.HasMode(tool, 0, 0o755),
			}, {
				Name: "another version", Prepare: there("old"), Values: values(map[string]any{"url": from + "/tool-v2"}),
				Action: states.Update, Changes: []string{"checksum"}, Check: holds("two\n"),
			}, {
				Name: "another mode and owner", Prepare: there(text), Values: values(map[string]any{"checksum": good, "mode": "0755", "owner": "alice"}),
				Action: states.Update, Changes: []string{"owner", "mode"},
			},
			{Name: "nothing to do, and nobody asked", Prepare: there(text), Values: values(map[string]any{"url": "http://none.test/x", "checksum": good})},
			{Name: "nothing to do, by its content", Prepare: there(text), Values: values(nil)},
			{Name: "a mirror", Values: values(map[string]any{"url": from + "/broken", "mirrors": []string{"http://none.test/", from + "/tool"}}),
				Action: states.Create, Changes: []string{"mode"}, Check: holds(text)},
			{Name: "a list of checksums", Values: values(map[string]any{"checksum": from + "/SHA256SUMS"}),
				Action: states.Create, Changes: []string{"checksum", "mode"}, Check: holds(text)},
			{Name: "a list as BSD has it", Prepare: there("old"), Values: values(map[string]any{"checksum": from + "/BSD"}),
				Action: states.Update, Changes: []string{"checksum"}, Check: holds(text)},
			{Name: "a checksum alone", Prepare: there(text), Values: values(map[string]any{"checksum": from + "/alone"})},
			{Name: "absent", Ensure: states.Absent, Prepare: there(text), Values: map[string]any{"path": tool}, Action: states.Remove, Changes: []string{"mode"}},
		},
	})
}

func TestDownloadFails(t *testing.T) {
	bad := "sha256:" + sum256("another")
	statestest.Run(t, statestest.Suite{Module: download.Module, Host: newHost, Cases: []statestest.Case{
		{Name: "another file", Values: values(map[string]any{"checksum": bad}), OnlyOnHost: true,
			Fails: "http://example.test/tool is not the file that it should be: its checksum is sha256:" + sum256(text)},
		{Name: "another file, and one is there", Prepare: there("old"), Values: values(map[string]any{"checksum": bad}), OnlyOnHost: true, Fails: "not the file that it should be"},
		{Name: "too large", Values: values(map[string]any{"max_size": 3}), OnlyOnHost: true, Fails: "larger than max_size, 3 bytes"},
		{Name: "too large to compare", Prepare: there("old"), Values: values(map[string]any{"max_size": 3}), Fails: "larger than max_size, 3 bytes"},
		{Name: "another status", Values: values(map[string]any{"url": from + "/broken", "mirrors": []string{"http://none.test/"}}),
			Fails: "http://example.test/broken was answered by status 500, not 200\nGET http://none.test/: the simulated network has nobody there"},
		{Name: "no such list", Values: values(map[string]any{"checksum": from + "/broken"}), Fails: "the list of checksums: status 500, not 200"},
		{Name: "not in the list", Values: values(map[string]any{"url": from + "/tool-v2", "checksum": from + "/SHA256SUMS"}), Fails: "has none for tool-v2"},
		{Name: "twice in the list", Values: values(map[string]any{"checksum": from + "/two"}), Fails: "has several for tool"},
		{Name: "missing directory", Values: map[string]any{"path": "/none/x", "url": from + "/tool"}, Fails: "the directory /none is not there"},
		{Name: "a directory", Values: map[string]any{"path": "/srv", "url": from + "/tool"}, Fails: "/srv is a directory, not a file"},
		{Name: "a link", Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/etc/passwd", tool) },
			Values: values(map[string]any{"checksum": bad}), Fails: "is a symlink, not a file"},
		{Name: "unknown owner", Values: values(map[string]any{"checksum": bad, "owner": "nobody-here"}), Fails: "no user named"},
		{Name: "no checksum", Values: values(map[string]any{"checksum": "sha256:abc"}), Wrong: "is no checksum"},
		{Name: "md5", Values: values(map[string]any{"checksum": "md5:d41d8cd98f00b204e9800998ecf8427e"}), Wrong: "is no checksum"},
		{Name: "no URL", Values: values(map[string]any{"url": "ftp://example.test/tool"}), Wrong: "no URL of http or https"},
		{Name: "no mirror", Values: values(map[string]any{"mirrors": []string{"/tool"}}), Wrong: "no URL of http or https"},
		{Name: "no size", Values: values(map[string]any{"max_size": -1}), Wrong: "less than 0"},
		{Name: "root", Values: values(map[string]any{"path": "/"}), Wrong: "is a directory"},
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
	for _, url := range []string{from + "/tool-v2", from + "/dated"} {
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
			want, err := m.Decode(map[string]any{"path": tool, "url": url}, nil)
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
			{url, "", true, 4},                        // created
			{url, "", false, 0},                       // nothing new
			{url, "by hand", true, 8},                 // compared, and put back
			{url, "", false, 0},                       //
			{from + "/tool", "", true, 2 * len(text)}, // another source
			{url, "", true, 8},                        //
		} {
			if c.edit != "" {
				fake.Put(t, h, tool, c.edit, 0o644)
			}
			if changed, bytes := carryOut(c.url); changed != c.changed || bytes != c.bytes {
				t.Errorf("%s, %d: changed %v, %d bytes, want %v, %d", url, i, changed, bytes, c.changed, c.bytes)
			}
		}
	}
}

// On a real file system a download is put in place whole, or not at all.
func TestDownloadOfLocal(t *testing.T) {
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
	if err := carryOut(map[string]any{"path": "/tool", "url": from + "/tool", "checksum": "sha256:" + sum256("x")}); err == nil {
		t.Error("another file is put in place")
	}
	if entries, err := h.ReadDir("/"); err != nil || len(entries) > 0 {
		t.Errorf("it leaves %v, %v", entries, err)
	}
	if err := carryOut(map[string]any{"path": "/tool", "url": from + "/tool", "checksum": "sha256:" + sum256(text), "mode": "0755"}); err != nil {
		t.Error(err)
	}
	if is := fake.Text(h, "/tool"); is != text {
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
