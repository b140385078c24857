package git

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/lang/diag"
)

// Contents is what was extracted.
type Contents struct {
	Files int
	Bytes int64
}

// entry is one file of a commit.
type entry struct {
	name       string // below the directory that is extracted
	object     string
	size       int64
	executable bool
}

// Extract makes a directory of one in a commit that was fetched, whole or not at all; an empty name is the whole commit. It is made beside, and has its name
// once all of it is there: it must not be there before, of which fs.ErrExist tells.
func (r *Repository) Extract(ctx context.Context, commit, dir, destination string) (contents Contents, err error) {
	if dir != "" {
		if err := checkDir(dir); err != nil {
			return Contents{}, r.refuse("reference", "", "%v", err)
		}
	}
	if _, err := os.Lstat(destination); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = &fs.PathError{Op: "extract", Path: destination, Err: fs.ErrExist}
		}
		return Contents{}, err
	}
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	release, err := r.hold(ctx, commit)
	if err != nil {
		return Contents{}, err
	}
	defer release()
	entries, err := r.list(ctx, commit, dir)
	if err != nil {
		return Contents{}, err
	}
	beside := filepath.Join(filepath.Dir(destination), ".extract-"+rand.Text())
	if err := os.Mkdir(beside, 0o755); err != nil {
		return Contents{}, err
	}
	if err = r.extractInto(ctx, entries, beside); err == nil {
		err = os.Chmod(beside, 0o755) // whatever the umask is
	}
	if err == nil {
		err = os.Rename(beside, destination)
	}
	if err != nil {
		return Contents{}, errors.Join(err, os.RemoveAll(beside))
	}
	for _, e := range entries {
		contents.Bytes += e.size
	}
	contents.Files = len(entries)
	return contents, nil
}

// list lists the files of a commit below a directory, and refuses those that must not be extracted.
func (r *Repository) list(ctx context.Context, commit, dir string) ([]entry, error) {
	if there, err := r.hasCommit(ctx, commit); !there {
		return nil, errors.Join(err, r.refuse(CodeNotFound, "fetch it first", "commit %s is not in the cache", diag.Shorten(commit)))
	}
	if kind, err := r.run(ctx, command{args: []string{"cat-file", "-t", commit + ":" + dir}, bare: true}); err != nil || strings.TrimSpace(string(kind)) != "tree" {
		if err != nil && exitCode(err) < 0 {
			return nil, err
		}
		return nil, r.refuse(CodeNotFound, "look at the part of the source behind //", "commit %.12s has no directory %q", commit, dir)
	}
	most := int64(r.limits.Files) * (sitefiles.MaxName + 100)
	out, err := r.run(ctx, command{args: []string{"ls-tree", "-r", "-z", "-l", "--full-tree", "--end-of-options", commit + ":" + dir}, bare: true, most: most})
	if errors.Is(err, errOutput) {
		return nil, r.refuseCount()
	}
	if err != nil {
		return nil, err
	}
	var entries []entry
	names, bytes := sitefiles.NewNames(r.limits.Depth), int64(0)
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if line == "" {
			continue
		}
		e, err := parseEntry(line)
		if err == nil {
			err = cmp.Or(checkGitName(e.name), names.Add(e.name))
		}
		if err != nil {
			return nil, r.refuse("content", diag.HintOf(err), "commit %.12s: %v", commit, err)
		}
		entries = append(entries, e)
		if bytes += e.size; bytes > r.limits.Bytes || e.size > r.limits.Bytes {
			return nil, r.refuse(CodeTooLarge, largeHint, "commit %.12s has files of more than %d MiB", commit, r.limits.Bytes>>20)
		}
		if len(entries) > r.limits.Files {
			return nil, r.refuseCount()
		}
	}
	return entries, nil
}

func (r *Repository) refuseCount() error {
	return r.refuse(CodeTooLarge, "name a directory of it behind //", "it has more than %d files", r.limits.Files)
}

// hasCommit reports whether a commit was fetched.
func (r *Repository) hasCommit(ctx context.Context, commit string) (bool, error) {
	if !IsCommit(commit) {
		return false, nil
	}
	_, err := r.run(ctx, command{args: []string{"cat-file", "-e", commit + "^{commit}"}, bare: true})
	if exitCode(err) > 0 {
		return false, nil
	}
	return err == nil, err
}

// parseEntry reads a line of ls-tree: MODE TYPE OBJECT SIZE, a tab, and the name.
func parseEntry(line string) (entry, error) {
	head, name, ok := strings.Cut(line, "\t")
	words := strings.Fields(head)
	if !ok || len(words) != 4 {
		return entry{}, fmt.Errorf("git lists %q", diag.Shorten(line))
	}
	e := entry{name: name, object: words[2]}
	switch words[0] {
	case "100644", "100664":
	case "100755":
		e.executable = true
	case "120000":
		return entry{}, &diag.HintError{Message: fmt.Sprintf("%s is a link, and only plain files are taken", sitefiles.QuoteName(name)), Hint: "put a copy of the file there"}
	case "160000":
		return entry{}, &diag.HintError{Message: fmt.Sprintf("%s is a submodule, and those are not fetched", sitefiles.QuoteName(name)), Hint: "put its files there, or take them as a package"}
	default:
		return entry{}, fmt.Errorf("%s has the mode %s", sitefiles.QuoteName(name), words[0])
	}
	size, err := strconv.ParseInt(words[3], 10, 64)
	if err != nil || size < 0 || !IsCommit(e.object) {
		return entry{}, fmt.Errorf("%s cannot be read", sitefiles.QuoteName(name))
	}
	e.size = size
	return e, nil
}

// extractInto writes files below a directory.
func (r *Repository) extractInto(ctx context.Context, entries []entry, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var objects strings.Builder
	for _, e := range entries {
		objects.WriteString(e.object + "\n")
	}
	return r.stream(ctx, command{args: []string{"cat-file", "--batch", "--buffer"}, bare: true, stdin: strings.NewReader(objects.String())}, func(out io.Reader) error {
		in := bufio.NewReader(out)
		for _, e := range entries {
			if err := r.extractFile(root, in, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// extractFile writes the next object of cat-file: OBJECT "blob" SIZE, and so many bytes and a line feed.
func (r *Repository) extractFile(root *os.Root, in *bufio.Reader, e entry) error {
	line, err := in.ReadString('\n')
	if want := fmt.Sprintf("%s blob %d\n", e.object, e.size); err != nil || line != want {
		return r.damaged("%s: %q %v", sitefiles.QuoteName(e.name), diag.Shorten(strings.TrimSpace(line)), err)
	}
	content := &io.LimitedReader{R: in, N: e.size}
	if err = sitefiles.Write(root, e.name, e.executable, content); err == nil && content.N > 0 {
		return r.damaged("%s ends early", sitefiles.QuoteName(e.name))
	}
	if err == nil {
		_, err = in.Discard(1)
	}
	return err
}

// damaged says that the cache is not as git has left it.
func (r *Repository) damaged(format string, args ...any) error {
	return r.refuse(CodeDamaged, "remove "+r.dir+": it is fetched again", "the cache of the repository is damaged: %s", fmt.Sprintf(format, args...))
}
