// Package folder follows a folder of this machine.
package folder

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source"
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
	digest, err := sitefiles.Digest(ctx, s.Dir)
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
func (s *Source) Fetch(ctx context.Context, r source.Revision, _ source.Former, dir string) (source.Fetched, error) {
	draft := filepath.Join(filepath.Dir(dir), ".draft-"+rand.Text())
	if err := os.Mkdir(draft, 0o700); err != nil {
		return source.Fetched{}, err
	}
	err := copyFiles(ctx, s.Dir, draft)
	if err == nil {
		var digest string
		if digest, err = sitefiles.Digest(ctx, draft); err == nil && digest != r.ID {
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

// glanceAt tells a folder apart without reading its files. The time is that of the last change.
func glanceAt(ctx context.Context, dir string) (text string, newest time.Time, err error) {
	sum := sha256.New()
	err = sitefiles.Each(ctx, dir, func(name string, info fs.FileInfo) error {
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		_, err := fmt.Fprintf(sum, "%q %d %d %o\n", name, info.Size(), info.ModTime().UnixNano(), info.Mode())
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), newest, err
}

func copyFiles(ctx context.Context, from, to string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	there, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer there.Close()
	return sitefiles.Each(ctx, from, func(name string, info fs.FileInfo) error {
		f, err := sitefiles.Open(there, name, info)
		if err != nil {
			return err
		}
		defer f.Close()
		return sitefiles.Write(root, name, sitefiles.IsExecutable(info.Mode()), io.LimitReader(f, sitefiles.MaxBytes))
	})
}
