// Package sitefiles writes the files of a site where it was sent to: with the modes that they have in every checkout, whatever the umask of
// the process is, since a tree that a site brings to hosts keeps its modes.
package sitefiles

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// ModeOf gives the mode of a file that somebody may execute, or nobody.
func ModeOf(executable bool) fs.FileMode {
	if executable {
		return 0o755
	}
	return 0o644
}

// IsExecutable reports whether somebody may execute a file.
func IsExecutable(mode fs.FileMode) bool { return mode&0o111 != 0 }

// MakeDirectories makes a directory and those around it. It follows no link.
func MakeDirectories(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	info, err := root.Lstat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	if err := MakeDirectories(root, path.Dir(dir)); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return root.Chmod(dir, 0o755)
}

// Write writes a file that is not there yet.
func Write(root *os.Root, name string, executable bool, content io.Reader) error {
	if err := MakeDirectories(root, path.Dir(name)); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Chmod(ModeOf(executable)), f.Close())
}
