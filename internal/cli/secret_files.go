package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
)

// secretsDir is the directory of a site, which no link leads out of, with its
// files of secrets.
type secretsDir struct {
	path     string
	root     *os.Root
	onlyFile string // one file, if one was named
}

// openSecrets opens the directory of a site, of one of its state files, or of
// one of its files of secrets.
func openSecrets(name string) (*secretsDir, error) {
	d := &secretsDir{path: name}
	if strings.HasSuffix(name, ".age") {
		d.path, d.onlyFile = filepath.Dir(name), filepath.Base(name)
		abs, err := filepath.Abs(d.path)
		if err == nil && filepath.Base(abs) == "secrets" {
			d.path, d.onlyFile = filepath.Dir(abs), "secrets/"+d.onlyFile
		}
		if _, _, err := secrets.Locate(secrets.QualifiedName(d.onlyFile, "x")); err != nil || !strings.HasPrefix(d.onlyFile, "secrets") {
			return nil, usage("secrets are in secrets.age of a site, and in secrets/NAME.age", "%s is no file of secrets", name)
		}
	} else if info, err := os.Stat(name); err == nil && !info.IsDir() {
		d.path = filepath.Dir(name)
	}
	var err error
	if d.root, err = os.OpenRoot(d.path); err != nil {
		return nil, &status{code: exitSite, err: fmt.Errorf("the site cannot be read: %w", err)}
	}
	return d, nil
}

func (d *secretsDir) close() { _ = d.root.Close() }

// files lists the files of secrets there are, secrets.age first.
func (d *secretsDir) files() ([]string, error) {
	if d.onlyFile != "" {
		return []string{d.onlyFile}, nil
	}
	var names []string
	if _, err := d.root.Lstat("secrets.age"); err == nil {
		names = append(names, "secrets.age")
	}
	entries, err := fs.ReadDir(d.root.FS(), "secrets")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, failure(fmt.Errorf("secrets cannot be read: %w", err))
	}
	for _, e := range entries {
		if stem, ok := strings.CutSuffix(e.Name(), ".age"); ok && secrets.ValidName(stem) {
			names = append(names, "secrets/"+e.Name())
		}
	}
	return names, nil
}

// read reads a file of secrets; the error is an fs.ErrNotExist where there is
// none.
func (d *secretsDir) read(name string) (*secrets.File, diag.List, error) {
	data, err := secrets.ReadFile(d.root.FS(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &explanation{diag.Diagnostic{Severity: diag.Error, Summary: "there is no " + name,
			Hint: "tenet secret set " + secrets.QualifiedName(name, "NAME") + " makes it"}, err}
	}
	if err != nil {
		return nil, nil, err
	}
	file, list := secrets.Parse(name, data)
	return file, list, nil
}

// recipients reads who may read a file: those named in the nearest file of
// recipients, FILE.recipients beside it, secrets.recipients beside it, or that of
// the site.
func (d *secretsDir) recipients(name string) (*secrets.Recipients, error) {
	candidates := []string{strings.TrimSuffix(name, ".age") + ".recipients",
		path.Join(path.Dir(name), "secrets.recipients"), "secrets.recipients"}
	for _, candidate := range candidates {
		data, err := secrets.ReadFile(d.root.FS(), candidate)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		to, list := secrets.ParseRecipients(candidate, data)
		return to, list.Err()
	}
	return nil, diag.Diagnostic{Severity: diag.Error, Summary: "nobody is named who may read " + name,
		Detail: "There is no file " + strings.Join(slices.Compact(candidates), " or ") + ".",
		Hint: "write the public keys of all who may, one a line, into secrets.recipients: yours may be in ~/.ssh/id_ed25519.pub, " +
			"or age-keygen makes one"}
}

// fileToSet gives a file that a value can be set in, a new one where there is
// none.
func (s *client) fileToSet(ctx context.Context, dir *secretsDir, name string) (*secrets.File, error) {
	file, _, err := dir.read(name)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, s.diagnoseSecrets(dir, diag.From(err))
	}
	to, err := s.recipients(ctx, dir, name)
	if missing {
		if err == nil {
			file, err = secrets.New(name, to)
		}
		if err != nil {
			return nil, s.diagnoseSecrets(dir, diag.From(err))
		}
		return file, nil
	}
	if err != nil {
		return file, s.diagnoseSecrets(dir, diag.From(err))
	}
	added, removed := file.Differ(to)
	if removed > 0 {
		return nil, newStatus(exitFailed, fmt.Errorf("%s could read what is set in %s", people(removed, "former recipient", "former recipients"), name),
			"tenet secret rekey first takes the key away from them")
	}
	if added > 0 {
		if err := s.diagnoseSecrets(dir, warnReaders(name, file, to)); err != nil {
			return nil, err
		}
	}
	return file, nil
}

// writeSecrets writes a file of secrets, unless it is damaged: what cannot be
// read must not be made to look right.
func (s *client) writeSecrets(dir *secretsDir, name string, file *secrets.File) error {
	data := file.Bytes()
	if _, list := secrets.Parse(name, data); list.HasErrors() {
		return s.diagnoseSecrets(dir, list)
	}
	if err := dir.write(name, data); err != nil {
		return failure(fmt.Errorf("%s cannot be written: %w", name, err))
	}
	return nil
}

// diagnoseSecrets prints what is wrong with files of secrets.
func (s *client) diagnoseSecrets(dir *secretsDir, list diag.List) error {
	return s.show(list.Sorted(), func(file string) ([]byte, bool) {
		if !strings.HasSuffix(file, ".age") {
			return nil, false // a private key may stand in it
		}
		data, err := secrets.ReadFile(dir.root.FS(), file)
		return data, err == nil
	})
}

// withLock runs f while no other process changes the secrets of the site.
func (s *client) withLock(ctx context.Context, d *secretsDir, f func() error) error {
	dir, err := os.Open(d.path)
	if err != nil {
		return failure(err)
	}
	defer dir.Close() // which gives up the lock
	for waits := 0; ; waits++ {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f()
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return failure(fmt.Errorf("%s cannot be locked: %w", d.path, err))
		}
		if waits == 20 {
			fmt.Fprintln(s.Err, "waiting for another process that changes the secrets")
		}
		select {
		case <-ctx.Done():
			return &status{code: exitInterrupted, err: errInterrupted}
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// write puts a file in the place of the former one, in one step, with its mode
// and owner. A symbolic link is not written through.
func (d *secretsDir) write(name string, data []byte) error {
	dir := path.Dir(name)
	if err := d.root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	former, err := d.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		former = nil
	case err != nil:
		return err
	case !former.Mode().IsRegular():
		return errors.New("it is no regular file; put a plain file in its place")
	}
	return atomicfile.ReplaceIn(d.root, name, atomicfile.Options{Mode: 0o644, Durable: true}, func(f *os.File) error {
		_, err := f.Write(data)
		if err == nil && former != nil {
			err = like(f, former)
		}
		return err
	})
}

// like gives a file the owner and mode of a former one.
func like(f *os.File, former fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok := former.Sys().(*syscall.Stat_t)
	is, also := now.Sys().(*syscall.Stat_t)
	if ok && also && (was.Uid != is.Uid || was.Gid != is.Gid) {
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("its owner cannot be kept: %w", err)
		}
	}
	return f.Chmod(former.Mode().Perm())
}
