// Package folder follows a folder of this machine.
package folder

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source"
)

// Limits of a folder.
const (
	maxFiles = 50_000
	maxBytes = 1 << 30
)

// Source is a folder. It is for one follower.
type Source struct {
	Dir string

	glance string // by which the folder was last told apart, and what it was then
	found  source.Revision
}

// Look computes the digest of the files, unless none has another size or time than before.
func (s *Source) Look(ctx context.Context, known source.Revision) (source.Revision, error) {
	began := time.Now()
	glance, newest, err := glanceAt(ctx, s.Dir)
	if err != nil {
		return source.Revision{}, err
	}
	if glance == s.glance {
		return s.found, nil
	}
	digest, err := digestOf(ctx, s.Dir)
	if err != nil {
		return source.Revision{}, err
	}
	if s.glance = glance; began.Sub(newest) < 2*time.Second {
		s.glance = "" // it may be written once more at the same time
	}
	if s.found = (source.Revision{ID: digest}); known.ID == digest {
		s.found = known
	}
	return s.found, nil
}

// Fetch copies the files.
func (s *Source) Fetch(ctx context.Context, r, _ source.Revision, dir string) (source.Fetched, error) {
	draft := filepath.Join(filepath.Dir(dir), ".draft-"+rand.Text())
	if err := os.Mkdir(draft, 0o700); err != nil {
		return source.Fetched{}, err
	}
	err := copyFiles(ctx, s.Dir, draft)
	if err == nil {
		var digest string
		if digest, err = digestOf(ctx, draft); err == nil && digest != r.ID {
			err = &diag.HintError{Message: s.Dir + " was changed while it was read", Hint: "it is read again"}
		}
	}
	if err == nil {
		err = os.Rename(draft, dir)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(draft))
	}
	return source.Fetched{}, err
}

// each goes through the files of a folder, but for what is there of version control.
func each(ctx context.Context, dir string, f func(name string, info fs.FileInfo) error) error {
	count, bytes := 0, int64(0)
	return fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case e.IsDir() && (e.Name() == ".git" || e.Name() == ".hg" || e.Name() == ".jj"):
			return fs.SkipDir
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return &diag.HintError{Message: filepath.Join(dir, name) + " is neither a plain file nor a directory", Hint: "put the file itself in its place"}
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if count, bytes = count+1, bytes+info.Size(); count > maxFiles || bytes > maxBytes {
			return &diag.HintError{Message: fmt.Sprintf("%s has more than %d files, or more than %d MiB", dir, maxFiles, maxBytes>>20), Hint: "follow a folder that holds the site alone"}
		}
		return f(name, info)
	})
}

// glanceAt tells a folder apart without reading its files. The time is that of the last change.
func glanceAt(ctx context.Context, dir string) (text string, newest time.Time, err error) {
	sum := sha256.New()
	err = each(ctx, dir, func(name string, info fs.FileInfo) error {
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		_, err := fmt.Fprintf(sum, "%q %d %d %o\n", name, info.Size(), info.ModTime().UnixNano(), info.Mode())
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), newest, err
}

// digestOf is the digest of all files, with their names and whether they may be executed.
func digestOf(ctx context.Context, dir string) (string, error) {
	sum := sha256.New()
	err := each(ctx, dir, func(name string, info fs.FileInfo) error { // in the order of names
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		one := sha256.New()
		if _, err := io.Copy(one, f); err != nil {
			return err
		}
		writeText(sum, name)
		writeText(sum, string(one.Sum(nil)))
		writeText(sum, sitefiles.ModeOf(sitefiles.IsExecutable(info.Mode())).String())
		return nil
	})
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), err
}

// writeText writes a text whose end is clear.
func writeText(sum hash.Hash, text string) {
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
	sum.Write([]byte(text))
}

func copyFiles(ctx context.Context, from, to string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	return each(ctx, from, func(name string, info fs.FileInfo) error {
		f, err := os.Open(filepath.Join(from, name))
		if err != nil {
			return err
		}
		defer f.Close()
		return sitefiles.Write(root, name, sitefiles.IsExecutable(info.Mode()), io.LimitReader(f, maxBytes))
	})
}
