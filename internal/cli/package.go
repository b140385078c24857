package cli

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/archive"
)

// archiveExtension ends the names of archives.
const archiveExtension = ".tar.zst"

type packageCmd struct {
	Dir string `arg:"" help:"A component, a collection or a directory of modules; or std/NAME."`
	Out string `short:"o" help:"Write the archive to this file (default: DIR.tar.zst)." placeholder:"FILE"`
}

// Help says more than the list of commands has room for.
func (*packageCmd) Help() string {
	return "The directory is checked as by validate --strict, and its cases are run as by test. The same files give the same digest, wherever and whenever they are packed."
}

// packed is an archive, as JSON.
type packed struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"` // of the files
}

// Run writes the archive of a package.
func (cmd *packageCmd) Run(ctx runContext, s *client) error {
	out, err := cmd.file()
	if err != nil {
		return err
	}
	dir, err := openPackageDir(cmd.Dir)
	if err != nil {
		return err
	}
	defer dir.close()
	if _, err := s.checkPackage(ctx, dir); err != nil {
		return err
	}
	var contents archive.Contents
	err = atomicfile.Replace(out, atomicfile.Options{Mode: 0o644}, func(f *os.File) (err error) {
		contents, err = dir.write(f)
		return err
	})
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(packed{out, contents.Digest, contents.Files, contents.Bytes})
	}
	return s.print(ui.Clean(out) + "  " + plural(contents.Files, "file") + "  " + contents.Digest)
}

// file is where the archive is to be, which is not in the directory itself.
func (cmd *packageCmd) file() (string, error) {
	dir, err := filepath.Abs(cmd.Dir)
	if err != nil {
		return "", failure(err)
	}
	out := cmd.Out
	if out == "" {
		out = filepath.Base(dir) + archiveExtension
	}
	full, err := filepath.Abs(out)
	if err != nil {
		return "", failure(err)
	}
	if inside, err := filepath.Rel(dir, full); err == nil && filepath.IsLocal(inside) {
		return "", usage("name another place: -o "+filepath.Join("..", filepath.Base(full)), "%s is in the directory that is packed", out)
	}
	return out, nil
}

// write writes the archive of a directory.
func (p *packageDir) write(f *os.File) (archive.Contents, error) {
	contents, err := archive.Write(f, p.files)
	if err != nil {
		return contents, &diag.HintError{Message: p.path + ": " + err.Error(), Hint: diag.HintOf(err), Err: err}
	}
	return contents, nil
}

// temporary writes the archive to a file that nobody else sees, and that goes with its last user.
func (p *packageDir) temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "tenet-package-*")
	if err != nil {
		return nil, err
	}
	if err = os.Remove(f.Name()); err == nil {
		_, err = p.write(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isArchive reports whether a path is that of a file rather than of a directory.
func isArchive(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
