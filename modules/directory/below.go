package directory

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// entry is something below a directory whose owner or mode is wrong.
type entry struct {
	path string
	have host.Info
	want Directory // owner, group and mode of this entry
	text string    // its differences
}

// differencesBelow shows what Read found below the directory.
func differencesBelow(have, _ Directory) []states.Change {
	var changes []states.Change
	if len(have.wrong) > 0 {
		var texts []string
		for _, e := range have.wrong {
			texts = append(texts, e.text)
		}
		changes = append(changes, states.Change{Attribute: "recurse", From: list(texts), To: true})
	}
	if len(have.extra) > 0 {
		changes = append(changes, states.Change{Attribute: "purge", From: list(have.extra)})
	}
	return changes
}

// findExtra lists the names in the directory that are not to be kept, and that no
// other part is about.
func findExtra(h host.Host, want Directory) ([]string, error) {
	entries, err := h.ReadDir(want.Path)
	if err != nil {
		return nil, err
	}
	declared := map[string]bool{}
	for _, p := range want.declared {
		name, _, _ := strings.Cut(p, "/")
		declared[name] = true
	}
	var extra []string
	for _, e := range entries {
		keep := func(pattern string) bool {
			ok, err := path.Match(pattern, e.Name)
			return ok && err == nil
		}
		if !declared[e.Name] && !slices.ContainsFunc(want.Keep, keep) {
			extra = append(extra, e.Name)
		}
	}
	return extra, nil
}

// findWrong walks what is below the directory, but for the names in it that
// will be purged, and collects what has another owner or mode.
func findWrong(ctx context.Context, h host.Host, want Directory, purged []string) ([]entry, error) {
	w := walker{h: h, want: want}
	err := w.walk(ctx, want.Path, purged)
	return w.wrong, err
}

type walker struct {
	h     host.Host
	want  Directory
	wrong []entry
}

func (w *walker) walk(ctx context.Context, dir string, but []string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	entries, err := w.h.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if slices.Contains(but, e.Name) {
			continue
		}
		name := path.Join(dir, e.Name)
		if err := w.compare(name); err != nil {
			return err
		}
		if e.Kind == host.Directory {
			if err := w.walk(ctx, name, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walker) compare(name string) error {
	info, err := w.h.Lstat(name)
	if err != nil {
		return err
	}
	want := Directory{Path: name, Owner: w.want.Owner, Group: w.want.Group}
	switch info.Kind {
	case host.Directory:
		want.Mode = w.want.dirMode
	case host.Regular:
		want.Mode = w.want.FileMode
	}
	e := entry{path: name, have: info, want: want}
	if differences := e.differences(w.h); len(differences) > 0 {
		e.text = name + ": " + strings.Join(differences, ", ")
		w.wrong = append(w.wrong, e)
	}
	return nil
}

// differences lists "owner root → www-data" and the like.
func (e entry) differences(h host.Host) []string {
	var out []string
	add := func(what, from, to string) {
		if from != to {
			out = append(out, fmt.Sprintf("%s %s → %s", what, from, to))
		}
	}
	if o := e.want.Owner; o != nil {
		add("owner", *owner.User(h, e.have.UID, o), *o)
	}
	if g := e.want.Group; g != nil {
		add("group", *owner.Group(h, e.have.GID, g), *g)
	}
	if m := e.want.Mode; m != nil {
		add("mode", states.FormatMode(e.have.Mode), states.FormatMode(*m))
	}
	return out
}

func correct(h host.Host, e entry) error {
	meta, err := owner.Meta(h, e.want.Owner, e.want.Group, e.want.Mode)
	if err != nil {
		return err
	}
	return h.SetMeta(e.path, meta)
}

// shown is how many entries a change lists.
const shown = 50

// list gives at most shown of the texts, and says how many there are besides.
func list(texts []string) []any {
	out := make([]any, 0, min(len(texts), shown)+1)
	for _, text := range texts[:min(len(texts), shown)] {
		out = append(out, text)
	}
	if n := len(texts) - shown; n > 0 {
		out = append(out, strings.TrimSpace(more(n)))
	}
	return out
}
