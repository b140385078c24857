package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// keptPrefix is where the commits are that were fetched whole: a ref is there once all below it is.
const keptPrefix = "refs/tenet/"

// maxKept is how many commits a cache has before those are removed that nobody has asked to keep.
const maxKept = 16

// hold keeps other processes from the cache until the result is called, and opens it for an object: those that are named by SHA-1 and by SHA-256 are never in one
// cache.
func (r *Repository) hold(ctx context.Context, object string) (release func(), err error) {
	if err := r.client.prepareDir(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(r.dir+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(ctx, file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := r.open(ctx, formatOf(object)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil // it was only locked
}

// lock waits for a lock that others hold.
func lock(ctx context.Context, file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(checkEvery):
		}
	}
}

// formatOf is by which hash an object is named; empty: it is none.
func formatOf(object string) string {
	switch {
	case !IsCommit(object):
		return ""
	case len(object) == 64:
		return "sha256"
	}
	return "sha1"
}

// open makes the cache where it is not there, or is one for objects that are named by another hash, and removes what an ended process has left in it. The lock is held.
func (r *Repository) open(ctx context.Context, format string) error {
	_, err := os.Stat(filepath.Join(r.dir, "HEAD"))
	if err == nil {
		if err = r.removeRemains(); err == nil {
			var out []byte
			out, err = r.run(ctx, command{args: []string{"rev-parse", "--show-object-format"}, bare: true})
			if err == nil && format != "" && strings.TrimSpace(string(out)) != format { // the repository was made anew
				return r.renew(ctx, format)
			}
		}
		if err == nil || exitCode(err) < 0 {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.renew(ctx, format)
}

// renew makes the cache anew.
func (r *Repository) renew(ctx context.Context, format string) error {
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	if format == "" {
		format = "sha1"
	}
	// HEAD names nothing that could be asked for by mistake. No template: it would bring hooks.
	_, err := r.run(ctx, command{args: []string{"init", "--quiet", "--bare", "--template=", "--initial-branch=none", "--object-format=" + format, r.dir}})
	return err
}

// removeRemains removes locks and unfinished packs: no other process is here.
func (r *Repository) removeRemains() error {
	return filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := entry.Name()
		if strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, ".tmp-") || strings.HasPrefix(name, "shallow_") {
			return os.Remove(path)
		}
		return nil
	})
}

// size is how many bytes the cache has.
func (r *Repository) size() (bytes int64, err error) {
	err = filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				bytes += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // git has removed or renamed it meanwhile
			err = nil
		}
		return err
	})
	return bytes, err
}

// checkSize is an error once the cache is larger than it may be.
func (r *Repository) checkSize() error {
	bytes, err := r.size()
	if err == nil && bytes > r.limits.Cache {
		err = r.tooLarge()
	}
	return err
}

// keptRefs lists the objects that were fetched whole.
func (r *Repository) keptRefs(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, command{args: []string{"for-each-ref", "--format=%(refname)", keptPrefix}, bare: true})
	if err != nil {
		return nil, err
	}
	var list []string
	for name := range strings.FieldsSeq(string(out)) {
		list = append(list, strings.TrimPrefix(name, keptPrefix))
	}
	return list, nil
}

// isKept reports whether an object was fetched whole.
func (r *Repository) isKept(ctx context.Context, object string) (bool, error) {
	_, err := r.run(ctx, command{args: []string{"rev-parse", "--quiet", "--verify", "--end-of-options", keptPrefix + object}, bare: true})
	if exitCode(err) > 0 {
		return false, nil
	}
	return err == nil, err
}

// prune removes all but some objects where there are many, or where the cache is large.
func (r *Repository) prune(ctx context.Context, keep []string) error {
	list, err := r.keptRefs(ctx)
	if err != nil {
		return err
	}
	bytes, err := r.size()
	if err != nil || len(list) <= maxKept && bytes <= r.limits.Cache/2 {
		return err
	}
	var updates strings.Builder
	for _, object := range list {
		if !contains(keep, object) {
			updates.WriteString("delete " + keptPrefix + object + "\n")
		}
	}
	if _, err := r.run(ctx, command{args: []string{"update-ref", "--stdin"}, bare: true, stdin: strings.NewReader(updates.String())}); err != nil {
		return err
	}
	if _, err := r.run(ctx, command{args: []string{"gc", "--quiet", "--prune=now"}, bare: true}); err != nil {
		return r.renewDamaged(ctx, formatOf(keep[len(keep)-1]), err)
	}
	return nil
}

// renewDamaged makes the cache anew, since git cannot work with it.
func (r *Repository) renewDamaged(ctx context.Context, format string, why error) error {
	if ctx.Err() != nil {
		return why
	}
	return r.renew(ctx, format)
}

func contains(list []string, one string) bool {
	for _, other := range list {
		if other == one {
			return true
		}
	}
	return false
}

// prepareDir makes the directory of all caches.
func (c *Client) prepareDir() error { return os.MkdirAll(c.Dir, 0o700) }

// shallow gives the commits at which the history is cut off.
func (r *Repository) shallow() (map[string]bool, error) {
	data, err := os.ReadFile(filepath.Join(r.dir, "shallow"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list := map[string]bool{}
	for commit := range strings.FieldsSeq(string(data)) {
		list[commit] = true
	}
	return list, nil
}
