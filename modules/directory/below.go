package directory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// entry is something below a directory whose owner or mode is wrong.
type entry struct {
	host.TreeEntry
	want Directory // owner, group and mode of this entry
	text string    // its differences
}

// differencesBelow shows what Read found below the directory.
func differencesBelow(have, _ Directory) []states.Change {
	changes := have.ownerEffects
	if len(have.deviations) > 0 {
		var texts []string
		for _, e := range have.deviations {
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
// other part is about. What a file system is mounted on, or below, stays whole.
func findExtra(ctx context.Context, d host.Dir, want Directory) ([]string, error) {
	entries, err := d.Entries()
	if err != nil {
		return nil, err
	}
	declared := map[string]bool{}
	for _, p := range want.otherParts {
		name, _, _ := strings.Cut(p, "/")
		declared[name] = true
	}
	var extra []string
	for _, e := range entries {
		keep := func(pattern string) bool {
			ok, err := path.Match(pattern, e.Name)
			return ok && err == nil
		}
		if declared[e.Name] || slices.ContainsFunc(want.Keep, keep) {
			continue
		}
		switch mount, err := host.FindMount(ctx, d, e.Name); {
		case errors.Is(err, fs.ErrNotExist): // it has gone
		case err != nil:
			return nil, err
		case mount != "":
			states.NoteMount(ctx, path.Join(want.Path, mount))
		default:
			extra = append(extra, e.Name)
		}
	}
	return extra, nil
}

// findWrong walks what is below the directory, but for the names in it that
// will be purged, and collects what has another owner or mode.
func findWrong(ctx context.Context, h host.Host, d host.Dir, want Directory, purged []string) ([]entry, error) {
	var mu sync.Mutex
	wrong := map[string]entry{}
	_, err := host.ReadTree(ctx, d, host.TreeOptions{
		Skip: func(name string, _ host.Kind) bool { return slices.Contains(purged, name) },
		Sum:  func(string, int64) bool { return false },
		Keep: func(e host.TreeEntry) bool {
			switch {
			case e.Name == ".":
				return false
			case e.Mount:
				states.NoteMount(ctx, path.Join(want.Path, e.Name))
				return false
			}
			found := compare(h, want, e)
			if found.text == "" {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			wrong[e.Name] = found
			return true
		},
	})
	list := make([]entry, 0, len(wrong))
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		list = append(list, wrong[name])
	}
	return list, err
}

// compare gives an entry with what differs in it.
func compare(h host.Host, all Directory, is host.TreeEntry) entry {
	want := Directory{Owner: all.Owner, Group: all.Group}
	switch is.Kind {
	case host.Directory:
		want.Mode = all.dirMode
	case host.Regular:
		want.Mode = all.FileMode
	}
	if want.Mode == nil && is.Kind == host.Regular {
		want.Mode = inheritedMode(h, want, is)
	}
	e := entry{TreeEntry: is, want: want}
	differences := e.differences(h)
	for _, c := range owner.ListLost(h, path.Join(all.Path, is.Name), infoOf(is), all.Owner) {
		differences = append(differences, fmt.Sprintf("%s %s → none", c.Attribute, c.From))
	}
	if len(differences) > 0 {
		e.text = path.Join(all.Path, is.Name) + ": " + strings.Join(differences, ", ")
	}
	return e
}

// inheritedMode is the mode that a file keeps beside another owner or group; nil: all of it. What
// lets a former owner other than root act as the new one, or write to the file, goes.
func inheritedMode(h host.Host, want Directory, is host.TreeEntry) *fs.FileMode {
	meta, err := owner.Meta(h, want.Owner, want.Group, nil)
	if err != nil {
		return nil // the act says so
	}
	mode := host.KeptMode(infoOf(is), meta)
	foreign := meta.TakesOver(infoOf(is))
	if foreign {
		mode &^= host.WriteBits
	}
	if !foreign && mode == is.Mode {
		return nil
	}
	return &mode
}

func infoOf(is host.TreeEntry) host.Info {
	return host.Info{Kind: is.Kind, Mode: is.Mode, UID: is.UID, GID: is.GID}
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
		add("owner", *owner.User(h, e.UID, o), *o)
	}
	if g := e.want.Group; g != nil {
		add("group", *owner.Group(h, e.GID, g), *g)
	}
	if m := e.want.Mode; m != nil {
		add("mode", states.FormatMode(e.Mode), states.FormatMode(*m))
	}
	return out
}

// correct gives the entries below an open directory the owners and modes that they shall
// have. What stands at a name by now is met, but never what it links to.
func correct(ctx context.Context, h host.Host, d host.Dir, wrong []entry) error {
	at := host.NewCursor(d)
	defer at.Close()
	for _, e := range wrong {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		meta, err := owner.Meta(h, e.want.Owner, e.want.Group, e.want.Mode)
		if err != nil {
			return err
		}
		in, err := at.To(path.Dir(e.Name))
		if err == nil {
			err = in.SetMeta(path.Base(e.Name), meta)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxListed is how many entries a change lists.
const maxListed = 50

// list gives at most shown of the texts, and says how many there are besides.
func list(texts []string) []any {
	out := make([]any, 0, min(len(texts), maxListed)+1)
	for _, text := range texts[:min(len(texts), maxListed)] {
		out = append(out, text)
	}
	if n := len(texts) - maxListed; n > 0 {
		out = append(out, strings.TrimSpace(moreText(n)))
	}
	return out
}
