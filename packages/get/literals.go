package get

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/packages"
)

const maxScript = 1 << 20

// OpenLiterals opens the packages that stand in scripts of the site, and of packages that are open: which of them a host uses depends on what is known of it,
// and a lock must not depend on where it is written. What cannot be opened is told by Lock.
func (g *Getter) OpenLiterals(ctx context.Context) error {
	open := g.Open(ctx)
	looked := map[string]bool{}
	sources, err := literals(g.Site)
	for err == nil && len(sources) > 0 {
		for _, source := range sources {
			_, _ = open(source) // told by Lock
		}
		sources = nil
		for source, o := range g.all() {
			if looked[source] || o.err != nil {
				continue
			}
			looked[source] = true
			more, failed := literals(o.files)
			sources, err = append(sources, more...), errors.Join(err, failed)
		}
	}
	return err
}

// all gives what was opened so far.
func (g *Getter) all() map[string]*opening {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[string]*opening{}
	for source, o := range g.opened {
		out[source] = o
	}
	return out
}

// literals lists the sources of packages that stand as texts in scripts.
func literals(files fs.FS) (list []string, err error) {
	pattern := regexp.MustCompile(`["']((?:oci://|git::)[^"'\\\s]+)["']`)
	err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (name == packages.Vendor || name != "." && strings.HasPrefix(e.Name(), ".")):
			return fs.SkipDir
		case !e.Type().IsRegular() || path.Ext(name) != ".star":
			return nil
		}
		if info, err := e.Info(); err != nil || info.Size() > maxScript {
			return err
		}
		text, err := fs.ReadFile(files, name)
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for _, found := range pattern.FindAllStringSubmatch(line, -1) {
				if _, wrong := packages.Name(found[1]); wrong == nil && !slices.Contains(list, found[1]) {
					list = append(list, found[1])
				}
			}
		}
		return err
	})
	return list, err
}
