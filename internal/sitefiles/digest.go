package sitefiles

import (
	"context"
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
	"syscall"

	"github.com/tenetcm/tenet/lang/diag"
)

// Limits of the files of a site.
const (
	maxFiles = 50_000
	MaxBytes = 1 << 30 // of all together
)

// Each goes through the files of a folder in the order of their names, but for what is there of version control.
func Each(ctx context.Context, dir string, f func(name string, info fs.FileInfo) error) error {
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
		if count, bytes = count+1, bytes+info.Size(); count > maxFiles || bytes > MaxBytes {
			return &diag.HintError{Message: fmt.Sprintf("%s has more than %d files, or more than %d MiB", dir, maxFiles, MaxBytes>>20), Hint: "follow a folder that holds the site alone"}
		}
		return f(name, info)
	})
}

// Open opens a file that Each has given, below the folder's root. Who may write there could have put something else in its place since: a link or a device is not opened for that, and nobody waits
// at a pipe.
func Open(root *os.Root, name string, info fs.FileInfo) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err == nil && (!is.Mode().IsRegular() || !os.SameFile(is, info)) {
		err = &diag.HintError{Message: filepath.Join(root.Name(), name) + " was replaced while it was read", Hint: "it is read again"}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Digest is the digest of all files of a folder, with their names and whether they may be executed, as "sha256:…".
func Digest(ctx context.Context, dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	sum := sha256.New()
	err = Each(ctx, dir, func(name string, info fs.FileInfo) error {
		f, err := Open(root, name, info)
		if err != nil {
			return err
		}
		defer f.Close()
		one := sha256.New()
		if _, err := io.Copy(one, io.LimitReader(f, MaxBytes)); err != nil {
			return err
		}
		writeText(sum, name)
		writeText(sum, string(one.Sum(nil)))
		writeText(sum, ModeOf(IsExecutable(info.Mode())).String())
		return nil
	})
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), err
}

// writeText writes a text whose end is clear.
func writeText(sum hash.Hash, text string) {
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
	sum.Write([]byte(text))
}
