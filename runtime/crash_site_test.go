package runtime_test

import (
	"context"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// crashSite is a site on which processes die.
type crashSite struct {
	name  string
	text  string
	files map[string]string // what is on the host at first
	links map[string]string
	rules []rule
	// loose is how paths begin that need not be there, since only some ends lead
	// to them; empty: there are none.
	loose string
	// fails says that the first apply of all fails, as things are.
	fails bool
	run   *states.StateRun
	// edited says that it is then, once a process has ended: the one that fate
	// has something for or, where it is settled, one before that.
	edited, settled bool
	then            string
	edit            *states.StateRun // nil: it is not edited
}

// logs declares a handler that writes its name to the log.
func logs(name, more string) string {
	return `state "` + name + `" {
		lazy = true
		` + more + `
		command "run" {
			argv = ["run", "` + name + `"]
		}
	}
	`
}

// smallSite is for trials that are many.
var smallSite = crashSite{
	name: "small",
	text: `
		file "/a" {
			content = "a"
			notify  = [state.h]
		}
	` + logs("h", ""),
	rules: []rule{{deed: "/a", handler: "h"}},
}

var crashSites = []*crashSite{{
	name: "kinds",
	text: `
		directory "/srv" {
			mode = "0750"
		}
		file "/srv/a" {
			content = "a\n"
			mode    = "0640"
			notify  = [state.h]
		}
		directory "/opt/on/the/way" {
			parents = true
			mode    = "0750"
		}
		file "/mode" {
			mode = "0600"
		}
		symlink "/srv/link" {
			target = "a"
			notify = [state.l]
		}
		symlink "/turned" {
			target = "new"
		}
		line "x" {
			path   = "/lines"
			line   = "x = 1"
			match  = "^x *="
			notify = [state.h]
		}
		file "/old" {
			ensure = "absent"
			notify = [state.h]
		}
		symlink "/oldlink" {
			ensure = "absent"
			notify = [state.l]
		}
		command "make" {
			argv    = ["make", "/made"]
			creates = "/made"
			notify  = [state.h]
		}
	` + logs("h", "") + logs("l", ""),
	files: map[string]string{"/old": "old\n", "/mode": "m\n", "/lines": "w = 0\nx = 0\nx = 2\n"},
	links: map[string]string{"/oldlink": "nowhere", "/turned": "old"},
	rules: []rule{
		{deed: "/srv/a", handler: "h"}, {deed: "/lines", handler: "h"}, {deed: "/old", handler: "h"},
		{deed: "/made", handler: "h"}, {deed: "/srv/link", handler: "l"}, {deed: "/oldlink", handler: "l"},
	},
}, {
	name: "waves",
	text: `
		file "/one" {
			content = "1"
			notify  = [state.h]
		}
		file "/two" {
			content = "2"
			notify  = [state.h]
			require = [file["/one"]]
		}
		file "/three" {
			content = "3"
			require = [file["/two"]]
		}
	` + logs("h", "notify = [state.g]") + logs("g", ""),
	rules: []rule{
		{deed: "/one", handler: "h"}, {deed: "/two", handler: "h"}, {deed: "h", handler: "g"},
		{deed: "/one", handler: "h", before: "/two"}, {deed: "/two", handler: "h", before: "/three"},
		{deed: "h", handler: "g", before: "/two"}, {deed: "h", handler: "g", before: "/three"},
	},
}, {
	name: "chain",
	text: `
		file "/c" {
			content = "c"
			notify  = [state.build]
		}
		state "build" {
			lazy   = true
			file "/built" {
				content = "b"
				notify  = [state.h]
			}
			command "run" {
				argv = ["run", "build"]
			}
		}
		state "several" {
			notify = [state.g]
			file "/s1" {
				content = "1"
			}
			file "/s2" {
				content = "2"
			}
			command "make" {
				argv    = ["make", "/s3"]
				creates = "/s3"
			}
		}
	` + logs("h", "") + logs("g", "defer = true"),
	rules: []rule{
		{deed: "/c", handler: "build"}, {deed: "/built", handler: "h"}, {deed: "/s1", handler: "g"},
		{deed: "/s2", handler: "g"}, {deed: "/s3", handler: "g"},
	},
}, {
	name: "block",
	text: `
		block "b" {
			notify         = [state.h]
			notify_failure = [state.f]
			file "/b/one" {
				content = "1"
			}
			file "/b/two" {
				content = "2"
			}
			command "try" {
				argv    = ["try", "/tried"]
				creates = "/tried"
				require = [file["/b/one"]]
			}
		}
		directory "/b" {}
	` + logs("h", "") + logs("f", ""),
	rules: []rule{
		{deed: "/b/", handler: "h"}, {deed: "/tried", handler: "h"}, {deed: "!/tried", handler: "f"},
	},
	fails: true,
}, {
	name: "failure",
	text: `
		file "/a" {
			content = "a"
			notify  = [state.h]
		}
		command "try" {
			argv           = ["try", "/tried"]
			creates        = "/tried"
			require        = [file["/a"]]
			notify_failure = [state.f]
		}
		file "/z" {
			content = "z"
			require = [command.try]
		}
	` + logs("h", "") + logs("f", ""),
	rules: []rule{
		{deed: "/a", handler: "h"}, {deed: "!/tried", handler: "f"},
		{deed: "/a", handler: "h", before: "/tried"},
	},
	fails: true,
}}

// compile makes the site's run, once.
func (s *crashSite) compile(t failer) {
	if s.run == nil {
		s.run = compile(t, registry(), s.text).Run
	}
	if s.edited && s.edit == nil {
		s.edit = compile(t, registry(), s.then).Run
	}
}

// world makes a fresh host for the site, which is compiled. Checks pass there.
func (s *crashSite) world(t failer, parallel int) *world {
	w := &world{Memory: host.NewMemory(), t: t, state: stateDir(t), site: s, run: s.run, parallel: parallel}
	w.platter = newPlatter(w.state)
	w.Handle("check", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
	w.Handle("show", w.show)
	for path, text := range s.files {
		w.must(w.Add(path, text))
	}
	for path, target := range s.links {
		w.must(w.Symlink(target, path, host.Meta{}))
	}
	w.Handle("check", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
	return w
}
