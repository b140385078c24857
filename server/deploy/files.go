package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenetcm/tenet/internal/linediff"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
)

// File is a file of a revision.
type File struct {
	Name       string          `json:"name"`
	Digest     contents.Digest `json:"digest,omitempty"` // none: it was removed
	Size       int64           `json:"size"`
	Executable bool            `json:"executable,omitempty"`
	// Change is what has become of it since another revision.
	Change *FileChange `json:"change,omitempty"`
}

// FileChange is how a file differs from that of another revision.
type FileChange struct {
	Kind   string          `json:"kind"`             // added, removed, changed or mode: it alone
	Digest contents.Digest `json:"digest,omitempty"` // of the other
	Size   int64           `json:"size"`
	Diff   string          `json:"diff,omitempty"`
	// Hidden is why there is no diff: encrypted, key, binary, large or much: there are too many for one answer, and it is to be asked for by its name.
	Hidden string `json:"hidden,omitempty"`
}

// The kinds of changes, and why diffs are not shown.
const (
	FileAdded, FileRemoved, FileChanged, FileMode                     = "added", "removed", "changed", "mode"
	HiddenEncrypted, HiddenKey, HiddenBinary, HiddenLarge, HiddenMuch = "encrypted", "key", "binary", "large", "much"
)

// Bounds of diffs in one answer.
const (
	maxDiffFile  = 256 << 10
	maxDiffBytes = 1 << 20
	maxDiffCells = 1 << 22 // of a file
	maxDiffWork  = 1 << 24 // of all
)

// FilesFilter says which files are listed.
type FilesFilter struct {
	Prefix string
	After  string // a name
	Limit  int
}

// Files lists the files of a revision by name, up to so many that a filter names; against another one, which is not 0, those that differ. Files concern all hosts of a
// site: it takes the right to read all of them.
func (s *Service) Files(ctx context.Context, by *access.Caller, site string, number, against int64, f FilesFilter) ([]File, error) {
	if !by.MaySiteEverywhere(access.Read, site) {
		return nil, noSite(site)
	}
	list, err := s.filesOf(ctx, site, number)
	if err != nil {
		return nil, err
	}
	if against == 0 {
		return f.choose(list), nil
	}
	former, err := s.filesOf(ctx, site, against)
	if err != nil {
		return nil, err
	}
	chosen := f.choose(compareFiles(former, list))
	return chosen, s.addDiffs(ctx, chosen)
}

// filesOf reads the list of the files of a revision.
func (s *Service) filesOf(ctx context.Context, site string, number int64) ([]File, error) {
	var r *Revision
	err := s.Store.Read(ctx, func(reader store.Reader) (err error) {
		r, err = s.knownRevision(reader, site, number)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, notFound(fmt.Sprintf("there is no revision %d of the site %.100q", number, site), "of former ones the latest are kept, and those that are in use")
	}
	tree, err := s.tree(ctx, r.Tree)
	list := make([]File, len(tree))
	for i, t := range tree {
		list[i] = File{Name: t.Name, Digest: t.Digest, Size: t.Size, Executable: t.Executable}
	}
	slices.SortFunc(list, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

func (f *FilesFilter) choose(list []File) (out []File) {
	for _, one := range list {
		if one.Name > f.After && strings.HasPrefix(one.Name, f.Prefix) && len(out) < f.Limit {
			out = append(out, one)
		}
	}
	return out
}

// compareFiles gives the files that differ, by name.
func compareFiles(former, list []File) (out []File) {
	was := map[string]File{}
	for _, f := range former {
		was[f.Name] = f
	}
	for _, f := range list {
		old, known := was[f.Name]
		delete(was, f.Name)
		switch {
		case !known:
			f.Change = &FileChange{Kind: FileAdded}
		case old.Digest != f.Digest:
			f.Change = &FileChange{Kind: FileChanged, Digest: old.Digest, Size: old.Size}
		case old.Executable != f.Executable:
			f.Change = &FileChange{Kind: FileMode, Digest: old.Digest, Size: old.Size}
		default:
			continue
		}
		out = append(out, f)
	}
	for _, f := range was {
		out = append(out, File{Name: f.Name, Change: &FileChange{Kind: FileRemoved, Digest: f.Digest, Size: f.Size}})
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// addDiffs adds diffs, as far as they are shown.
func (s *Service) addDiffs(ctx context.Context, list []File) error {
	bytesLeft, workLeft := maxDiffBytes, maxDiffWork
	for i := range list {
		f := &list[i]
		c := f.Change
		if c.Kind == FileMode {
			continue
		}
		if c.Hidden = hiddenBySize(f); c.Hidden != "" {
			continue
		}
		if bytesLeft <= 0 || workLeft <= 0 {
			c.Hidden = HiddenMuch
			continue
		}
		before, err := s.text(ctx, c.Digest)
		if err != nil {
			return err
		}
		after, err := s.text(ctx, f.Digest)
		if err != nil {
			return err
		}
		if c.Hidden = hiddenByContent(before, after); c.Hidden != "" {
			continue
		}
		c.Diff = linediff.Diff(string(before), string(after), maxDiffCells)
		bytesLeft -= len(c.Diff)
		workLeft -= min(maxDiffCells, (1+bytes.Count(before, []byte("\n")))*(1+bytes.Count(after, []byte("\n"))))
	}
	return nil
}

// text reads a small content; none has no text.
func (s *Service) text(ctx context.Context, d contents.Digest) (_ []byte, err error) {
	if d == "" {
		return nil, nil
	}
	in, _, err := s.Contents.Open(ctx, d, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return io.ReadAll(io.LimitReader(in, maxDiffFile+1))
}

// hiddenBySize says why a file is not even read.
func hiddenBySize(f *File) string {
	switch {
	case strings.HasSuffix(f.Name, ".age"):
		return HiddenEncrypted
	case f.Size > maxDiffFile || f.Change.Size > maxDiffFile:
		return HiddenLarge
	}
	return ""
}

// hiddenByContent says why texts are not shown.
func hiddenByContent(texts ...[]byte) string {
	for _, text := range texts {
		switch {
		case bytes.HasPrefix(text, []byte("age-encryption.org/")) || bytes.Contains(text, []byte("-----BEGIN AGE ENCRYPTED FILE-----")) || bytes.HasPrefix(text, []byte("$ANSIBLE_VAULT;")):
			return HiddenEncrypted
		case bytes.Contains(text, []byte("AGE-SECRET-KEY-")) || bytes.Contains(text, []byte("PRIVATE KEY-----")):
			return HiddenKey
		case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
			return HiddenBinary
		}
	}
	return ""
}
