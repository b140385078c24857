package host

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// Runner marks what a host leaves behind for a moment: temporary files by their
// names, programs by their environment. What a run that was killed has left is told by
// it from anything else. A host that cannot do so gives itself.
type Runner interface {
	// ForRun gives the host as it is in one run.
	ForRun(id string) Host
}

// Namer knows which run a host is in.
type Namer interface {
	// TempName gives a name for a temporary file, which no other file has.
	TempName() string
}

// TempName names a temporary file that a module puts beside a path. It begins
// with a dot and holds one: sudo, cron and run-parts pass over such names.
func TempName(h Host) string {
	return h.TempName()
}

const (
	tempPrefix = ".tenet-"
	markName   = "TENET_PROCESS"
)

// tempName names a temporary file of a run; empty: of none.
func tempName(run string) string {
	if run != "" {
		run += "-"
	}
	return tempPrefix + run + rand.Text()
}

// isTemp reports whether a name is one that tempName gives a run.
func isTemp(name, run string) bool {
	random, ok := strings.CutPrefix(name, tempPrefix+run+"-")
	return ok && run != "" && isRandom(random)
}

// isRandom reports whether a text is like those of rand.Text.
func isRandom(text string) bool {
	return len(text) == len(rand.Text()) && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// Leftovers lists the temporary files that a run has left in a directory: files,
// links and directories of exactly the names that TempName gives. A directory that is
// not there has none.
func Leftovers(h Reader, dir, run string) ([]string, error) {
	dir, err := follow(h, dir)
	if err != nil {
		return nil, err
	}
	entries, err := h.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	var left []string
	for _, e := range entries {
		if e.Kind != Other && isTemp(e.Name, run) {
			left = append(left, path.Join(dir, e.Name))
		}
	}
	return left, err
}

// LeftoversBelow lists those in a directory and in all below it. No symbolic link is
// followed, since what is there may be anybody's. An error comes with what was found
// until then.
func LeftoversBelow(ctx context.Context, h Reader, dir, run string) (left []string, err error) {
	d, err := OpenDir(h, dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || IsLink(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := ReadTree(ctx, d, TreeOptions{
		Sum:  func(string, int64) bool { return false },
		Keep: func(e TreeEntry) bool { return e.Kind != Other && isTemp(path.Base(e.Name), run) },
	})
	for _, e := range entries {
		if e.Name != "." {
			left = append(left, path.Join(dir, e.Name))
		}
	}
	return left, err
}

// follow gives the directory that a path leads to, by way of symbolic links:
// ReadDir follows none at the end.
func follow(h Reader, dir string) (string, error) {
	for range 40 { // as many as Linux follows
		target, err := h.ReadLink(dir)
		switch {
		case errors.Is(err, syscall.EINVAL), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return dir, nil
		case err != nil:
			return "", err
		case path.IsAbs(target):
			dir = path.Clean(target)
		default:
			dir = path.Dir(dir) + "/" + target // whose ".." the host resolves
		}
	}
	return "", pathError("read", dir, syscall.ELOOP)
}

type partKey struct{}

// WithPart marks the programs that are started with this context as those of a
// part.
func WithPart(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, partKey{}, id)
}

// PartOf gives the part that WithPart has marked a context with; empty: none.
func PartOf(ctx context.Context) string {
	part, _ := ctx.Value(partKey{}).(string)
	return part
}

// ProcessSweeper finds the programs which a run has started and, since it was killed, has
// not waited for.
type ProcessSweeper interface {
	// StrayProcesses lists the processes of a part of a run, all that came from them
	// included.
	StrayProcesses(run, part string) []int
	// EndStrayProcesses ends them as the end of a context does, and returns when they
	// are gone.
	EndStrayProcesses(run, part string) error
}

// processMark is what a program's environment says: run, part and what tells it from
// the part's other programs.
func processMark(ctx context.Context, run string) string {
	return partMark(run, PartOf(ctx)) + rand.Text()
}

// partMark is how the marks of a part's programs begin.
func partMark(run, part string) string { return markName + "=" + run + ":" + part + ":" }
