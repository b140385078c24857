package lang

import (
	"context"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/program"
)

// Review warns of what is right, and most likely not meant: of what needs a look at the whole
// site rather than at one of its hosts, and is asked for when a site is checked. It looks at
// the directories that were read; those that scripts name are known once the site is evaluated.
func (s *Site) Review(ctx context.Context, t Target) diag.List {
	if s.broken {
		return nil
	}
	list := program.Unused(s.files.own(), s.options)
	return append(list, s.program.Review(ctx, t)...).Sorted()
}

// own gives the directories whose files the site's authors can change: its own, and those of
// its components but the standard ones.
func (d *directories) own() (list []*program.Directory) {
	names := append([]string{"."}, d.components()...)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		if !strings.HasPrefix(name, standardName+"/") {
			list = append(list, d.directories[name])
		}
	}
	return list
}
