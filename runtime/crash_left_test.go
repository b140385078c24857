package runtime_test

import (
	"strings"
	"syscall"
	"testing"
)

// A site that is edited: what it made and does not declare any more is removed,
// but not what it has found.
const (
	prunedHead = `
		site {
			name  = "web"
			prune = true
		}
		file "/keep" {
			content = "keep\n"
			notify  = [state.h]
		}
	`
	prunedBody = `
		directory "/d" {}
		directory "/d/e" {}
		file "/d/e/f" {
			content = "f\n"
			notify  = [state.h]
		}
		file "/d/g" {
			content = "g\n"
		}
		symlink "/l" {
			target  = "d"
			require = [file["/d/g"]]
		}
		file "/found" {
			content = "x"
		}
	`
)

var prunedSites = []*crashSite{
	{name: "made", edited: true}, {name: "pruned", edited: true, settled: true},
}

func TestPruneAtEachOperation(t *testing.T) {
	for _, s := range prunedSites {
		s.text, s.then = prunedHead+prunedBody+logs("h", ""), prunedHead+logs("h", "")
		s.files = map[string]string{"/found": "x"}
		s.rules = []rule{{deed: "/keep", handler: "h"}}
	}
	trials(t, prunedSites,
		trial{name: "dies", how: dies},
		trial{name: "halts", how: halts, rare: true},
		trial{name: "lost power", how: dies, then: lose(true, true)},
		trial{name: "EIO once", how: misses, err: syscall.EIO, rare: true},
		trial{name: "managed damaged", how: dies, then: damage("managed.json", halfOf), rare: true},
		trial{name: "owed damaged", how: dies, then: damage("owed.json", noneOf), rare: true},
		trial{name: "ENOSPC from there", how: full, err: syscall.ENOSPC, rare: true},
	)
}

// Blocks that are to be confirmed, and are.
func TestConfirmAtEachOperation(t *testing.T) {
	s := &crashSite{
		name: "confirmed",
		text: `
			block "b" {
				notify = [state.h]
				confirm {
					timeout = "1s"
					command = ["check"]
				}
				file "/a" {
					content = "new\n"
				}
				symlink "/l" {
					target = "new"
				}
				file "/gone" {
					ensure = "absent"
				}
			}
			file "/after" {
				content = "x"
				require = [block.b]
			}
		` + logs("h", ""),
		files: map[string]string{"/a": "old\n", "/gone": "g\n"},
		links: map[string]string{"/l": "old"},
	}
	for _, path := range strings.Fields("/a /l /gone") {
		s.rules = append(s.rules, rule{deed: path, handler: "h"}, rule{deed: path, handler: "h", before: "/after"})
	}
	trials(t, []*crashSite{s},
		trial{name: "dies", how: dies},
		trial{name: "halts", how: halts, rare: true},
		trial{name: "lost power", how: dies, then: lose(true, true), rare: true},
		trial{name: "EIO once", how: misses, err: syscall.EIO, rare: true},
		trial{name: "ENOSPC from there", how: full, err: syscall.ENOSPC, rare: true},
	)
}
