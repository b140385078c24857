package hosttest

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/tenetcm/tenet/runtime/host"
)

// directories tests Mkdir and ReadDir.
func directories() map[string]func(*tester) {
	return map[string]func(*tester){
		"mkdir": func(x *tester) {
			x.mkdir("d")
			x.meta("d", host.Directory, 0o755, x.uid, x.gid)
			x.must(x.Mkdir(x.at("e"), host.Meta{Mode: new(fs.FileMode(0o2770) | fs.ModeSetgid), GID: &x.other}))
			x.meta("e", host.Directory, 0o770|fs.ModeSetgid, x.uid, x.other)
			x.names("d")
		},
		"mkdir refused": func(x *tester) {
			x.write("f", "")
			x.mkdir("d")
			x.symlink("nothing", "l")
			for name, want := range map[string]error{
				"f": fs.ErrExist, "d": fs.ErrExist, "l": fs.ErrExist,
				"no/d": fs.ErrNotExist, "f/d": syscall.ENOTDIR,
			} {
				x.fails(x.Mkdir(x.at(name), host.Meta{}), want, x.at(name))
			}
		},
		"readdir": func(x *tester) {
			x.names("")
			for _, name := range []string{"z", "a", "ä", "B", ".hidden", "a-"} {
				x.write(name, "")
			}
			x.mkdir("m")
			x.symlink("m", "l")
			x.names("",
				host.Entry{Name: ".hidden", Kind: host.Regular}, host.Entry{Name: "B", Kind: host.Regular},
				host.Entry{Name: "a", Kind: host.Regular}, host.Entry{Name: "a-", Kind: host.Regular},
				host.Entry{Name: "l", Kind: host.Symlink}, host.Entry{Name: "m", Kind: host.Directory},
				host.Entry{Name: "z", Kind: host.Regular}, host.Entry{Name: "ä", Kind: host.Regular})
			for name, want := range map[string]error{
				"a": syscall.ENOTDIR, "l": syscall.ENOTDIR, "none": fs.ErrNotExist,
			} {
				_, err := x.ReadDir(x.at(name))
				x.fails(err, want, x.at(name))
			}
		},
		"many entries": func(x *tester) {
			var want []host.Entry
			for i := range 600 {
				name := strings.Repeat(string(rune('a'+i%26)), 20+i/26)
				x.write(name, "")
				want = append(want, host.Entry{Name: name, Kind: host.Regular})
			}
			slices.SortFunc(want, func(a, b host.Entry) int { return strings.Compare(a.Name, b.Name) })
			x.names("", want...)
		},
	}
}

// removing tests Remove.
func removing() map[string]func(*tester) {
	return map[string]func(*tester){
		"remove": func(x *tester) {
			x.write("f", "")
			x.mkdir("d")
			x.mkdir("d/e")
			x.symlink("d", "l")
			x.fails(x.Remove(x.at("d")), syscall.ENOTEMPTY, x.at("d"))
			for _, name := range []string{"f", "l", "d/e", "d"} {
				x.must(x.Remove(x.at(name)))
				x.gone(name)
				x.fails(x.Remove(x.at(name)), fs.ErrNotExist, x.at(name))
			}
			x.names("")
		},
		"a new directory is empty": func(x *tester) {
			x.mkdir("d")
			x.write("d/f", "")
			x.must(x.Remove(x.at("d/f")))
			x.must(x.Remove(x.at("d")))
			x.mkdir("d")
			x.names("d")
			x.gone("d/f")
		},
		"from file to directory and back": func(x *tester) {
			x.write("p", "file")
			x.must(x.Remove(x.at("p")))
			x.mkdir("p")
			x.write("p/f", "below")
			x.must(x.Remove(x.at("p/f")))
			x.must(x.Remove(x.at("p")))
			x.write("p", "again")
			x.holds("p", "again")
		},
	}
}

// symlinks tests Symlink, ReadLink and what is reached through links.
func symlinks() map[string]func(*tester) {
	return map[string]func(*tester){
		"symlink": func(x *tester) {
			x.symlink("../some//where/", "l")
			x.meta("l", host.Symlink, 0o777, x.uid, x.gid)
			target, err := x.ReadLink(x.at("l"))
			if x.must(err); target != "../some//where/" {
				x.Errorf("leads to %q", target)
			}
			x.write("f", "")
			_, err = x.ReadLink(x.at("f"))
			x.fails(err, syscall.EINVAL, x.at("f"))
			_, err = x.ReadLink(x.at("none"))
			x.fails(err, fs.ErrNotExist, x.at("none"))
		},
		"symlink replaces": func(x *tester) {
			x.write("f", "text")
			x.symlink("f", "l")
			x.symlink("g", "l")
			if target, err := x.ReadLink(x.at("l")); target != "g" || err != nil {
				x.Errorf("leads to %q, %v", target, err)
			}
			x.symlink("g", "f")
			x.meta("f", host.Symlink, 0o777, x.uid, x.gid)
			x.mkdir("d")
			x.fails(x.Symlink("g", x.at("d"), host.Meta{}), syscall.EISDIR, x.at("d"))
			x.fails(x.Symlink("", x.at("e"), host.Meta{}), fs.ErrNotExist, x.at("e"))
			x.names("", host.Entry{Name: "d", Kind: host.Directory},
				host.Entry{Name: "f", Kind: host.Symlink}, host.Entry{Name: "l", Kind: host.Symlink})
		},
		"through links": func(x *tester) {
			x.mkdir("a")
			x.mkdir("a/b")
			x.symlink(x.at("a"), "absolute")
			x.symlink("absolute/b", "chain")
			x.write("chain/f", "text")
			x.holds("a/b/f", "text")
			x.symlink("../a/b/../b/f", "a/up")
			x.holds("absolute/up", "text")
			x.must(x.Remove(x.at("chain/f")))
			x.gone("a/b/f")
			if _, err := x.Lstat(x.dir + "/chain/../b"); err != nil {
				x.Error(err) // ".." is that of the link's target
			}
		},
		"loops": func(x *tester) {
			x.symlink("b", "a")
			x.symlink("a", "b")
			x.symlink("self/x", "self")
			for _, name := range []string{"a/f", "self/f"} {
				_, err := x.Lstat(x.at(name))
				x.fails(err, syscall.ELOOP, x.at(name))
				err = x.WriteFile(x.Context(), x.at(name), host.Text(""), host.Meta{})
				x.fails(err, syscall.ELOOP, x.at(name))
			}
			_, err := x.Open(x.at("a"))
			x.fails(err, syscall.ELOOP, x.at("a"))
			x.meta("a", host.Symlink, 0o777, x.uid, x.gid)
		},
		"forty links and no more": func(x *tester) {
			x.write("l0", "end")
			for i := range 41 {
				x.symlink("l"+strconv.Itoa(i), "l"+strconv.Itoa(i+1))
			}
			x.holds("l40", "end")
			_, err := x.Open(x.at("l41"))
			x.fails(err, syscall.ELOOP, x.at("l41"))
		},
	}
}

// paths tests the forms of paths.
func paths() map[string]func(*tester) {
	return map[string]func(*tester){
		"slashes and dots": func(x *tester) {
			x.mkdir("d")
			x.write("d/f", "text")
			for _, p := range []string{"/d/f", "//d///f", "/./d/./f", "/d/../d/f", "/d/f/"} {
				if _, err := x.Lstat(x.dir + p); err != nil {
					x.Error(err)
				}
			}
			for p, want := range map[string]error{"/d/f/.": syscall.ENOTDIR, "/no/../d": fs.ErrNotExist} {
				_, err := x.Lstat(x.dir + p)
				x.fails(err, want, x.dir+p)
			}
			if info, err := x.Lstat(x.dir + "/d/.."); err != nil || info.Kind != host.Directory {
				x.Errorf("%v, %v", info, err)
			}
		},
		"the root": func(x *tester) {
			for _, p := range []string{"/", "/..", "//"} {
				info, err := x.Lstat(p)
				if err != nil || info.Kind != host.Directory {
					x.Errorf("%s: %v, %v", p, info, err)
				}
			}
			x.fails(x.WriteFile(x.Context(), "/", host.Text(""), host.Meta{}), syscall.EISDIR, "/")
			x.fails(x.Mkdir("/", host.Meta{}), fs.ErrExist, "/")
			x.fails(x.Symlink("x", "/", host.Meta{}), syscall.EISDIR, "/")
			x.fails(x.Remove("/"), syscall.EBUSY, "/")
		},
		"refused": func(x *tester) {
			for _, p := range []string{"", "relative", "/nul\x00", "/" + strings.Repeat("a", 256), strings.Repeat("/ab", 2000)} {
				_, err := x.Lstat(p)
				if _, ok := errors.AsType[*fs.PathError](err); !ok {
					x.Errorf("%.20q: error %v", p, err)
				}
				if err := x.Mkdir(p, host.Meta{}); err == nil {
					x.Errorf("made %.20q", p)
				}
			}
			for _, p := range []string{x.dir + "/.", x.dir + "/.."} {
				x.fails(x.Remove(p), syscall.EINVAL, p)
				x.fails(x.WriteFile(x.Context(), p, host.Text(""), host.Meta{}), syscall.EINVAL, p)
			}
		},
		"odd names": func(x *tester) {
			for _, name := range []string{"-x", " ", "a\nb", "\xff\xfe", "*", "$(id)", "..."} {
				x.write(name, name)
				x.holds(name, name)
				x.must(x.Remove(x.at(name)))
			}
		},
	}
}
