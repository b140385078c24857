package states

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/tenetcm/tenet/runtime/host"
)

// ManifestEntry is one of the many things that a part has made below its path, as it left
// it. The manifest of a part lists all of them, in the order of their names.
type ManifestEntry struct {
	Name   string // relative to the path, slash-separated; "." is the path itself
	Kind   host.Kind
	Digest string // SHA-256 of a file's content or a symbolic link's target; empty for a directory
}

// NewManifestEntry describes an entry of a tree that was read, or is to be written.
func NewManifestEntry(e *host.TreeEntry) ManifestEntry {
	m := ManifestEntry{Name: e.Name, Kind: e.Kind}
	switch e.Kind {
	case host.Regular:
		m.Digest = e.SHA256
	case host.Symlink:
		sum := sha256.Sum256([]byte(e.Target))
		m.Digest = hex.EncodeToString(sum[:])
	}
	return m
}

// TreeChange is one of the many things that a Write is about to do.
type TreeChange struct {
	Name  string
	There bool            // something stands there now
	Want  *host.TreeEntry // what shall; nil: nothing
}

// NextManifest gives what a part has made once its Write is done: what it had made
// before, if it is still to be there, and what is made of names at which nothing
// stood. What it finds in place and changes is not among it.
func NextManifest(before []ManifestEntry, changes []TreeChange) []ManifestEntry {
	list := make(map[string]ManifestEntry, len(before)+len(changes))
	for _, m := range before {
		list[m.Name] = m
	}
	for _, m := range changes {
		_, own := list[m.Name]
		switch {
		case m.Want == nil:
			delete(list, m.Name)
		case own || !m.There:
			list[m.Name] = NewManifestEntry(m.Want)
		}
	}
	out := make([]ManifestEntry, 0, len(list))
	for _, m := range list {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b ManifestEntry) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
