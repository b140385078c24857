package runtime

import (
	"path"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// ways remembers where paths lead on a shadow, until a symbolic link comes or goes there.
type ways struct {
	relinks int64
	known   map[string]way
}

// way is where a path leads, and the links that were followed.
type way struct {
	to    string
	links []string
}

// way resolves a path.
func (f *effects) way(name string) way {
	if now := f.shadow.Relinks(); f.ways.known == nil || now != f.ways.relinks || len(f.ways.known) > maxWays {
		f.ways = ways{relinks: now, known: map[string]way{}}
	}
	w, ok := f.ways.known[name]
	if !ok {
		w.to, w.links = host.Way(f.shadow, name)
		f.ways.known[name] = w
	}
	return w
}

// maxWays bounds what is remembered.
const maxWays = 1 << 16

// withoutLinks gives a pattern of paths as it is known without symbolic links.
func (f *effects) withoutLinks(pattern string) string {
	i := strings.IndexAny(pattern, wildcards)
	if i < 0 {
		return f.way(pattern).to
	}
	i = strings.LastIndexByte(pattern[:i], '/')
	to := path.Dir(f.way(pattern[:i] + "/x").to) // the directory before it is followed, too
	return path.Join(to, pattern[i:])
}

// wildcards are the bytes that make a pattern of a path.
const wildcards = "*?[\\"
