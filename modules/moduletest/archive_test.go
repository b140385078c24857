package moduletest_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/tenetcm/tenet/modules/archive"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const (
	archiveApp  = "/opt/app"
	archiveFile = "/srv/app.tar"
)

// archiveBzip holds app/hello; there is no writer of bzip2 in Go's library.
const archiveBzip = "QlpoOTFBWSZTWQ6DcdIAAG37gMmQAARAAMeAAIBiRN4ACAggAFQlKaaaGmRpk02p6gkpqZNMhoGIH1ZjIQRehCKX1yNs5RQIcE2L0eLBwjhkHb7dy6hpBxRfSzYFCijM0kRA/F3JFOFCQDoNx0g="

// tarOf makes a tar file; the bytes of files are in Uname, which is not written.
func tarOf(entries ...tar.Header) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		content := h.Uname
		h.Uname, h.Size = "", int64(len(content))
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(&h); err != nil {
			panic(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

func regular(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Uname: content}
}

func archiveSymlink(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
}

// archivePlain is an archive of one directory app.
func archivePlain() string {
	return tarOf(
		tar.Header{Typeflag: tar.TypeDir, Name: "app/", Mode: 0o750},
		regular("app/hello", "first"), regular("app/hello", "hello\n"),
		tar.Header{Typeflag: tar.TypeReg, Name: "./app/bin/run", Mode: 0o4755, Uname: "#!/bin/sh\n"},
		tar.Header{Typeflag: tar.TypeLink, Name: "app/bin/again", Linkname: "app/hello"},
		archiveSymlink("app/link", "/etc/passwd"), regular("app/large", strings.Repeat("0123456789", 10_000)),
	)
}

func packed(make func(io.Writer) (io.WriteCloser, error), content string) string {
	var b bytes.Buffer
	w, err := make(&b)
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	return b.String()
}

func zipped() string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	add := func(name string, mode fs.FileMode, content string) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(f, content)
		}
		if err != nil {
			panic(err)
		}
	}
	add("app/", fs.ModeDir|0o755, "")
	add("app/hello", 0o640, "hello\n")
	add("app/link", fs.ModeSymlink|0o777, "hello")
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

func newArchiveHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Dir(t, h, "/opt", 0o755)
	return h
}

func putArchive(content string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Put(t, h, archiveFile, content, 0o644) }
}

func archiveWith(more ...any) map[string]any {
	v := map[string]any{"path": archiveApp, "file": archiveFile, "strip": 1}
	for i := 0; i < len(more); i += 2 {
		v[more[i].(string)] = more[i+1]
	}
	return v
}

func archiveHolds(name, content string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is := fake.Text(h, archiveApp+"/"+name); is != content {
			t.Errorf("%s holds %.50q, want %q", name, is, content)
		}
	}
}

// unpacked is the host with the plain archive in place.
func unpacked(change func(t *testing.T, h host.Host)) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		putArchive(archivePlain())(t, h)
		m := archive.Module
		want, err := m.Decode(map[string]any{"path": archiveApp, "file": archiveFile, "strip": json.Number("1")}, nil)
		if err == nil {
			err = m.Write(t.Context(), h, nil, want)
		}
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(t, h)
		}
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	decoded, err := base64.StdEncoding.DecodeString(archiveBzip)
	if err != nil {
		t.Fatal(err)
	}
	formats := map[string]string{
		"tar": archivePlain(), "bzip2": string(decoded), "zip": zipped(),
		"gzip": packed(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }, archivePlain()),
		"xz":   packed(func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }, archivePlain()),
		"zstd": packed(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }, archivePlain()),
	}
	var cases []statestest.Case
	for name, content := range formats {
		cases = append(cases, statestest.Case{
			Name: "create from " + name, Prepare: putArchive(content), Values: archiveWith(),
			Action: states.Create, Changes: []string{"create"}, Check: archiveHolds("hello", "hello\n"),
		})
	}
	sum := sha256.Sum256([]byte(archivePlain()))
	create := func(name string, v map[string]any, check func(*testing.T, host.Host, map[string]any)) statestest.Case {
		return statestest.Case{Name: name, Prepare: putArchive(archivePlain()), Values: v, Action: states.Create, Changes: []string{"create"}, Check: check}
	}
	statestest.Run(t, statestest.Suite{Module: archive.Module, Host: newArchiveHost, Site: fstest.MapFS{"app.tar": {Data: []byte(archivePlain())}},
		Cases: append(cases,
			create("all of it", archiveWith("checksum", "sha256:"+hex.EncodeToString(sum[:]), "owner", "alice"), func(t *testing.T, h host.Host, _ map[string]any) {
				for name, want := range map[string]string{"bin/run": "0755", "bin": "0755", ".": "0750", "bin/again": "0644"} {
					info, err := h.Lstat(archiveApp + "/" + name)
					if err != nil || states.FormatMode(info.Mode) != want || info.UID != 1000 {
						t.Errorf("%s: %+v, %v", name, info, err)
					}
				}
				archiveHolds("bin/again", "hello\n")(t, h, nil)
				archiveHolds("large", strings.Repeat("0123456789", 10_000))(t, h, nil)
				if target, err := h.ReadLink(archiveApp + "/link"); target != "/etc/passwd" {
					t.Errorf("%q, %v", target, err)
				}
			}),
			create("from the site", map[string]any{"path": archiveApp, "source": "app.tar"}, archiveHolds("app/hello", "hello\n")),
			create("excluded", archiveWith("exclude", []string{"bin", "l*"}), func(t *testing.T, h host.Host, _ map[string]any) {
				if fake.Exists(h, archiveApp+"/bin") || fake.Exists(h, archiveApp+"/link") || !fake.Exists(h, archiveApp+"/hello") {
					t.Error("the wrong files were left out")
				}
			}),
			statestest.Case{Name: "nothing to do", Prepare: unpacked(nil), Values: archiveWith()},
			statestest.Case{
				Name: "drift", Values: archiveWith(), Action: states.Update, Changes: []string{"create", "update", "mode"},
				Prepare: unpacked(func(t *testing.T, h host.Host) {
					fake.Put(t, h, archiveApp+"/hello", "changed", 0o600)
					if err := h.Remove(archiveApp + "/bin/again"); err != nil {
						t.Fatal(err)
					}
				}),
				Check: archiveHolds("bin/again", "hello\n"),
			},
			statestest.Case{
				Name: "purge", Values: archiveWith("purge", true), Action: states.Update, Changes: []string{"purge"},
				Prepare: unpacked(func(t *testing.T, h host.Host) { fake.Put(t, h, archiveApp+"/own", "x", 0o644) }),
			},
			statestest.Case{Name: "created already", Values: archiveWith("creates", "/etc/passwd", "file", "/no/where"), Stays: "the archive is not there",
				Prepare: func(t *testing.T, h host.Host) { fake.Dir(t, h, archiveApp, 0o755) }},
			statestest.Case{
				Name: "absent", Ensure: states.Absent, Values: archiveWith(), Action: states.Remove,
				Prepare: unpacked(func(t *testing.T, h host.Host) { fake.Put(t, h, archiveApp+"/bin/own", "x", 0o644) }),
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if fake.Exists(h, archiveApp+"/hello") || !fake.Exists(h, archiveApp+"/bin/own") {
						t.Error("too much is gone, or not enough")
					}
				},
			},
		)})
}

func TestArchiveFails(t *testing.T) {
	t.Parallel()
	fails := func(name, content, text string, more ...any) statestest.Case {
		return statestest.Case{Name: name, Prepare: putArchive(content), Values: archiveWith(append([]any{"strip", 0}, more...)...), Fails: text}
	}
	bomb := packed(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }, tarOf(regular("zeros", strings.Repeat("\x00", 1<<20))))
	statestest.Run(t, statestest.Suite{Module: archive.Module, Host: newArchiveHost, Cases: []statestest.Case{
		fails("out of the directory", tarOf(regular("../passwd", "x")), `"../passwd" leads out of the directory`),
		fails("out of it on the way", tarOf(regular("a/../../passwd", "x")), "leads out of the directory"),
		fails("an absolute path", tarOf(regular("/etc/passwd", "x")), "is no path below a directory"),
		fails("below a link", tarOf(archiveSymlink("a", "/etc"), regular("a/passwd", "x")), "a is a symlink, and something lies below it"),
		fails("below a file", tarOf(regular("a", "x"), regular("a/b", "x")), "a is a file, and something lies below it"),
		fails("a hard link out", tarOf(tar.Header{Typeflag: tar.TypeLink, Name: "a", Linkname: "/etc/shadow"}), "is no path below a directory"),
		fails("a hard link to what is not there", tarOf(tar.Header{Typeflag: tar.TypeLink, Name: "a", Linkname: "b"}), "which is no file before it"),
		fails("a hard link to a link", tarOf(archiveSymlink("b", "/etc/shadow"), tar.Header{Typeflag: tar.TypeLink, Name: "a", Linkname: "b"}), "which is no file before it"),
		fails("a device", tarOf(tar.Header{Typeflag: tar.TypeBlock, Name: "sda"}), "is a device, a pipe or another thing"),
		fails("a pipe", tarOf(tar.Header{Typeflag: tar.TypeFifo, Name: "pipe"}), "is a device, a pipe or another thing"),
		fails("too large", bomb, "larger than its limit", "limit", 1<<20-1),
		fails("cut short", archivePlain()[:3000], "unexpected EOF"),
		fails("no archive", "hello", "it is no archive that is known"),
		fails("nothing", "", "it is no archive that is known"),
		fails("another checksum", archivePlain(), "is not the archive that it should be", "checksum", "sha256:"+strings.Repeat("0", 64)),
		{Name: "not there", Values: archiveWith(), Fails: "the archive is not there"},
		{Name: "none", Values: map[string]any{"path": archiveApp}, Fails: "it names no archive"},
		{Name: "a directory in the way", Values: archiveWith(), Fails: "with something in it", Hint: "purge = true",
			Prepare: func(t *testing.T, h host.Host) {
				putArchive(archivePlain())(t, h)
				fake.Put(t, h, archiveApp+"/hello/x", "", 0o644)
			}},
		{Name: "no parent", Prepare: putArchive(archivePlain()), Values: archiveWith("path", "/no/where"), Fails: "the directory /no is not there", Hint: `directory "/no" {}`},
		{Name: "unknown owner", Prepare: putArchive(archivePlain()), Values: archiveWith("owner", "nobody-here"), Fails: "no user named"},
		{Name: "root", Values: archiveWith("path", "/"), Wrong: "cannot be unpacked to"},
		{Name: "strip", Values: archiveWith("strip", -1), Wrong: "negative"},
		{Name: "limit", Values: archiveWith("limit", -1), Wrong: "negative"},
		{Name: "checksum", Values: archiveWith("checksum", "md5:00"), Wrong: "is no checksum"},
		{Name: "pattern", Values: archiveWith("exclude", []string{"["}), Wrong: "is no pattern"},
	}})
}

func TestArchiveHostile(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: archive.Module, Hostile: archiveWith(), Host: func(t *testing.T) host.Host {
		h := newArchiveHost(t)
		putArchive(tarOf(regular("app/hello", "x")))(t, h)
		return h
	}})
}

// Whatever names an archive has, nothing outside of the directory changes, and what
// was unpacked is found unchanged, and can be removed.
func FuzzArchiveNames(f *testing.F) {
	for _, s := range []string{"a", "../a", "/a", "a/../b", "./a//b/", "a/.", ".", "..", "", "\xff", "a\nb", strings.Repeat("a", 300), "b/a"} {
		f.Add(s, "a", byte(tar.TypeSymlink))
		f.Add("a", s, byte(tar.TypeLink))
		f.Add(s, "a", byte(tar.TypeReg))
		f.Add(s, "", byte(tar.TypeDir))
	}
	f.Fuzz(func(t *testing.T, name, link string, kind byte) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		content := "content"
		if w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "b/a", Size: 7, Mode: 0o644}) != nil {
			return
		}
		_, _ = io.WriteString(w, content)
		h := &tar.Header{Typeflag: kind, Name: name, Linkname: link, Mode: 0o755}
		if w.WriteHeader(h) != nil || w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name + "/x", Mode: 0o644}) != nil || w.Close() != nil {
			return
		}
		m := host.NewMemory()
		for _, dir := range []string{"/opt", "/etc"} {
			if err := m.Mkdir(dir, host.Meta{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.WriteFile(t.Context(), "/a.tar", host.Text(b.String()), host.Meta{}); err != nil {
			t.Fatal(err)
		}
		before := outside(t, m)
		module := archive.Module
		want, err := module.Decode(map[string]any{"path": archiveApp, "file": "/a.tar"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := module.Write(t.Context(), m, nil, want); err == nil {
			have, err := module.Read(t.Context(), m, want)
			if err != nil || have == nil || len(module.Diff(have, want)) > 0 {
				t.Errorf("unpacked, it is not as it was: %v, %v", have, err)
			} else if err := module.Remove(t.Context(), m, have); err != nil {
				t.Errorf("it is not removed: %v", err)
			}
		}
		if after := outside(t, m); after != before {
			t.Errorf("outside of the directory\n%s became\n%s", before, after)
		}
	})
}

// outside lists what is not in the directory.
func outside(t *testing.T, h host.Host) string {
	d, err := host.OpenDir(h, "/")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := host.ReadTree(t.Context(), d, host.TreeOptions{Skip: func(name string, _ host.Kind) bool { return name == "opt/app" }})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name + " " + e.SHA256 + e.Target + "\n")
	}
	return b.String()
}
