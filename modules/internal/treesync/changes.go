package treesync

import (
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// What a plan shows of many files.
const (
	shownNames = 20      // names in a list
	shownTexts = 5       // texts with their differences
	shownSize  = 8 << 10 // bytes of such a text
)

// list is a bounded list of names, and how many there are.
type list struct {
	names []any
	count int
	size  int64
}

func (l *list) add(text string, size int64) {
	if l.count++; l.count <= shownNames {
		l.names = append(l.names, text)
	}
	l.size += size
}

// value is the list as a Change shows it; nil without anything in it.
func (l *list) value() any {
	switch n := l.count - shownNames; {
	case l.count == 0:
		return nil
	case n > 0:
		return append(l.names, fmt.Sprintf("and %d more", n))
	}
	return l.names
}

// Changes shows what differs. The names of the changes are create, update, owner,
// group, mode, purge, and those of some small texts.
func (f *Found) Changes(h Accounts, w Wanted) []states.Change {
	var create, update, purge, users, groups, modes list
	var texts []states.Change
	for _, c := range f.changes {
		name := Shown(c.name)
		switch {
		case c.want == nil:
			purge.add(name, 0)
			continue
		case c.have == nil:
			create.add(createdText(name, *c.want), c.want.Size)
			continue
		case c.body:
			update.add(updatedText(name, c), 0)
		}
		if c.text {
			texts = append(texts, states.Change{Attribute: name, From: c.diff[0], To: c.diff[1]})
		}
		if c.have.Kind != c.want.Kind {
			continue
		}
		if w.Owner != nil {
			h.user(&users, name, c.have.UID, *w.Owner)
		}
		if w.Group != nil {
			h.group(&groups, name, c.have.GID, *w.Group)
		}
		if mode := w.mode(*c.want); c.want.Kind != host.Symlink && c.have.Mode != mode {
			modes.add(fmt.Sprintf("%s: %s → %s", name, states.FormatMode(c.have.Mode), states.FormatMode(mode)), 0)
		}
	}
	var out []states.Change
	add := func(attribute string, l list) {
		if v := l.value(); v != nil {
			out = append(out, states.Change{Attribute: attribute, To: v})
		}
	}
	add("create", create)
	add("update", update)
	if v := users.value(); v != nil {
		out = append(out, states.Change{Attribute: "owner", From: v, To: *w.Owner})
	}
	if v := groups.value(); v != nil {
		out = append(out, states.Change{Attribute: "group", From: v, To: *w.Group})
	}
	add("mode", modes)
	if v := purge.value(); v != nil {
		out = append(out, states.Change{Attribute: "purge", From: v})
	}
	return append(out, texts...)
}

// Accounts are the names of the owners that Compare found: Changes has no host to
// ask.
type Accounts struct{ users, groups map[int]string }

func (a Accounts) user(l *list, name string, uid int, want string) {
	if is := a.users[uid]; is != want {
		l.add(name+": "+is, 0)
	}
}

func (a Accounts) group(l *list, name string, gid int, want string) {
	if is := a.groups[gid]; is != want {
		l.add(name+": "+is, 0)
	}
}

// AccountsOf looks up the owners of what has changed.
func (f *Found) AccountsOf(h host.Host, w Wanted) Accounts {
	a := Accounts{map[int]string{}, map[int]string{}}
	for _, c := range f.changes {
		if c.have == nil || c.want == nil {
			continue
		}
		if _, known := a.users[c.have.UID]; !known && w.Owner != nil {
			a.users[c.have.UID] = *owner.User(h, c.have.UID, w.Owner)
		}
		if _, known := a.groups[c.have.GID]; !known && w.Group != nil {
			a.groups[c.have.GID] = *owner.Group(h, c.have.GID, w.Group)
		}
	}
	return a
}

func createdText(name string, e host.TreeEntry) string {
	switch e.Kind {
	case host.Directory:
		return name + "/"
	case host.Symlink:
		return name + " → " + Shown(e.Target)
	}
	return fmt.Sprintf("%s (%d bytes)", name, e.Size)
}

func updatedText(name string, c change) string {
	switch {
	case c.have.Kind != c.want.Kind:
		return fmt.Sprintf("%s: %s → %s", name, c.have.Kind, c.want.Kind)
	case c.have.Kind == host.Symlink:
		return fmt.Sprintf("%s: → %s, was %s", name, Shown(c.want.Target), Shown(c.have.Target))
	}
	return fmt.Sprintf("%s (%d → %d bytes)", name, c.have.Size, c.want.Size)
}

// loadTexts reads both sides of a small text.
func (r *comparison) loadTexts(d host.Dir, c *change) bool {
	if r.Content == nil || c.have == nil || c.have.Kind != host.Regular || c.want.Kind != host.Regular ||
		c.have.Size > shownSize || c.want.Size > shownSize {
		return false
	}
	at := host.NewCursor(d)
	defer at.Close()
	dir, err := at.To(path.Dir(c.name))
	if err != nil {
		return false
	}
	from, _, err := dir.Open(path.Base(c.name))
	if err != nil {
		return false
	}
	to, err := r.Content(*c.want).Open()
	if err != nil {
		from.Close()
		return false
	}
	var ok1, ok2 bool
	c.diff[0], ok1 = textOf(from)
	c.diff[1], ok2 = textOf(to)
	c.text = ok1 && ok2
	return c.text
}

// textOf reads a small text.
func textOf(f io.ReadCloser) (host.Content, bool) {
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, shownSize+1))
	c := host.Text(string(data))
	return c, err == nil && len(data) <= shownSize && c.IsText()
}

// Removed shows what will be removed.
func (f *Found) Removed() []states.Change {
	var gone list
	for _, e := range f.entries {
		if e.Name == "." {
			continue
		}
		if e.Kind != host.Directory || !f.keptDirs[e.Name] {
			gone.add(Shown(e.Name), 0)
		}
	}
	if v := gone.value(); v != nil {
		return []states.Change{{Attribute: "purge", From: v}}
	}
	return nil
}

// modeOf gives a mode with which a directory can be filled.
func writable(mode fs.FileMode) fs.FileMode { return mode | 0o700 }

// Writes lists what Write will do.
func (f *Found) Writes() []states.TreeChange {
	out := make([]states.TreeChange, 0, len(f.changes)+1)
	if !f.There() {
		out = append(out, states.TreeChange{Name: ".", Want: &host.TreeEntry{Name: ".", Kind: host.Directory}})
	}
	for _, c := range f.changes {
		out = append(out, states.TreeChange{Name: c.name, There: c.have != nil, Want: c.want})
	}
	return out
}
