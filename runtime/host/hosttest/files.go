package hosttest

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
)

// writing tests WriteFile of what is new.
func writing() map[string]func(*tester) {
	return map[string]func(*tester){
		"new file": func(x *tester) {
			before := time.Now().Add(-time.Minute)
			x.write("f", "hello")
			x.holds("f", "hello")
			x.meta("f", host.Regular, 0o644, x.uid, x.gid)
			if info := x.lstat("f"); info.Size != 5 || info.ModTime.Before(before) {
				x.Errorf("size %d at %v", info.Size, info.ModTime)
			}
			x.names("", host.Entry{Name: "f", Kind: host.Regular})
		},
		"empty file": func(x *tester) {
			x.must(x.WriteFile(x.Context(), x.at("f"), host.Content{}, host.Meta{}))
			x.holds("f", "")
		},
		"group of a setgid directory": func(x *tester) {
			mode := 0o755 | fs.ModeSetgid
			x.must(x.Mkdir(x.at("d"), host.Meta{Mode: &mode, GID: &x.other}))
			x.write("d/f", "")
			x.mkdir("d/e")
			x.symlink("f", "d/l")
			x.meta("d/f", host.Regular, 0o644, x.uid, x.other)
			x.meta("d/e", host.Directory, 0o755, x.uid, x.other)
			x.meta("d/l", host.Symlink, 0o777, x.uid, x.other)
		},
		"needs its directory": func(x *tester) {
			err := x.WriteFile(x.Context(), x.at("no/f"), host.Text(""), host.Meta{})
			x.fails(err, fs.ErrNotExist, x.at("no/f"))
			x.gone("no")
			x.write("file", "")
			err = x.WriteFile(x.Context(), x.at("file/f"), host.Text(""), host.Meta{})
			x.fails(err, syscall.ENOTDIR, x.at("file/f"))
		},
		"does nothing after the end": func(x *tester) {
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(x.Context())
			cancel(cause)
			err := x.WriteFile(ctx, x.at("f"), host.Text(""), host.Meta{})
			x.fails(err, cause, x.at("f"))
			x.names("")
		},
		"large content": func(x *tester) {
			text := strings.Repeat("0123456789abcdef", host.InlineLimit/8)
			x.write("f", text)
			c, err := host.ReadContent(x.Context(), x, x.at("f"), x.lstat("f"))
			x.must(err)
			if _, inline := c.Inline(); inline || c.Size() != int64(len(text)) {
				x.Fatalf("%d bytes, in memory: %v", c.Size(), inline)
			}
			x.must(x.WriteFile(x.Context(), x.at("g"), c, host.Meta{}))
			x.holds("g", text)
		},
	}
}

// replacing tests WriteFile over what is there.
func replacing() map[string]func(*tester) {
	return map[string]func(*tester){
		"replaced file keeps owner and mode": func(x *tester) {
			x.must(x.WriteFile(x.Context(), x.at("f"), host.Text("a"),
				host.Meta{Mode: new(fs.FileMode(0o640)), GID: &x.other}))
			x.write("f", "bb")
			x.holds("f", "bb")
			x.meta("f", host.Regular, 0o640, x.uid, x.other)
		},
		"setuid survives the owner": func(x *tester) {
			mode := 0o755 | fs.ModeSetuid | fs.ModeSetgid
			x.must(x.WriteFile(x.Context(), x.at("f"), host.Text("a"),
				host.Meta{Mode: &mode, UID: &x.uid, GID: &x.other}))
			x.meta("f", host.Regular, mode, x.uid, x.other)
		},
		"another content has no setuid": func(x *tester) {
			x.must(x.WriteFile(x.Context(), x.at("f"), host.Text("a"), host.Meta{Mode: new(0o775 | fs.ModeSetuid | fs.ModeSetgid), GID: &x.other}))
			x.write("f", "b")
			x.meta("f", host.Regular, 0o775, x.uid, x.other)
		},
		"replaces a link, not its target": func(x *tester) {
			x.write("target", "old")
			x.symlink("target", "link")
			x.write("link", "new")
			x.holds("target", "old")
			x.holds("link", "new")
			x.meta("link", host.Regular, 0o644, x.uid, x.gid)
		},
		"refuses a directory": func(x *tester) {
			x.mkdir("d")
			err := x.WriteFile(x.Context(), x.at("d"), host.Text(""), host.Meta{})
			x.fails(err, syscall.EISDIR, x.at("d"))
			x.names("", host.Entry{Name: "d", Kind: host.Directory})
		},
	}
}

// opening tests Open.
func opening() map[string]func(*tester) {
	return map[string]func(*tester){
		"open file stays as it was": func(x *tester) {
			x.write("f", "old")
			f, err := x.Open(x.at("f"))
			x.must(err)
			defer f.Close()
			x.write("f", "new")
			buf := make([]byte, 3)
			_, err = f.Read(buf)
			x.must(err)
			if string(buf) != "old" {
				x.Errorf("reads %q", buf)
			}
		},
		"open": func(x *tester) {
			x.mkdir("d")
			x.write("d/f", "text")
			x.symlink("d/f", "to-file")
			x.symlink("d", "to-dir")
			x.symlink("nothing", "to-nothing")
			x.holds("to-file", "text")
			x.holds("to-dir/f", "text")
			for name, want := range map[string]error{
				"d": syscall.EISDIR, "to-dir": syscall.EISDIR,
				"to-nothing": fs.ErrNotExist, "nothing": fs.ErrNotExist, "d/f/x": syscall.ENOTDIR,
			} {
				_, err := x.Open(x.at(name))
				x.fails(err, want, x.at(name))
			}
		},
	}
}

// meta tests SetMeta.
func meta() map[string]func(*tester) {
	return map[string]func(*tester){
		"of a file": func(x *tester) {
			x.write("f", "text")
			x.must(x.SetMeta(x.at("f"), host.Meta{Mode: new(fs.FileMode(0o600))}))
			x.meta("f", host.Regular, 0o600, x.uid, x.gid)
			x.must(x.SetMeta(x.at("f"), host.Meta{UID: &x.uid, GID: &x.other}))
			x.meta("f", host.Regular, 0o600, x.uid, x.other)
			x.holds("f", "text")
		},
		"owner alone keeps setuid": func(x *tester) {
			mode := 0o711 | fs.ModeSetuid
			x.must(x.WriteFile(x.Context(), x.at("f"), host.Text(""), host.Meta{Mode: &mode}))
			x.must(x.SetMeta(x.at("f"), host.Meta{GID: &x.other}))
			x.meta("f", host.Regular, mode, x.uid, x.other)
		},
		"of a directory": func(x *tester) {
			x.mkdir("d")
			x.write("d/f", "")
			mode := 0o700 | fs.ModeSticky
			x.must(x.SetMeta(x.at("d"), host.Meta{Mode: &mode, GID: &x.other}))
			x.meta("d", host.Directory, mode, x.uid, x.other)
			x.names("d", host.Entry{Name: "f", Kind: host.Regular})
		},
		"of a link": func(x *tester) {
			x.write("f", "")
			x.symlink("f", "l")
			x.must(x.SetMeta(x.at("l"), host.Meta{Mode: new(fs.FileMode(0o600)), GID: &x.other}))
			x.meta("l", host.Symlink, 0o777, x.uid, x.other)
			x.meta("f", host.Regular, 0o644, x.uid, x.gid)
			if target, err := x.ReadLink(x.at("l")); target != "f" || err != nil {
				x.Errorf("leads to %q, %v", target, err)
			}
		},
		"of nothing": func(x *tester) {
			x.fails(x.SetMeta(x.at("f"), host.Meta{}), fs.ErrNotExist, x.at("f"))
		},
	}
}
