package programs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Keep takes a file that was fetched into the folder as a program, and gives its path: whole, durable, and with the digest. The file that was fetched is
// removed.
func (f *Folder) Keep(fetched string, p Program) (string, error) {
	in, err := os.OpenFile(fetched, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer in.Close()
	path := filepath.Join(f.Dir, p.name())
	f.step("program")
	err = atomicfile.Replace(path, atomicfile.Options{Mode: 0o755, Durable: true}, func(out *os.File) error {
		sum := sha256.New()
		half, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(in, p.Size/2))
		if err != nil {
			return err
		}
		f.step("half of the program")
		rest, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(in, p.Size-half+1))
		if err != nil {
			return err
		}
		if half+rest != p.Size || trust.Digest(sum.Sum(nil)) != p.SHA256 {
			return fmt.Errorf("what was fetched is not the program %s of the release: it has another digest or size", p.Version)
		}
		return out.Chmod(0o755)
	})
	f.step("after the program")
	if err != nil {
		return "", errors.Join(err, remove(fetched))
	}
	return path, remove(fetched)
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Find gives the path of a program, if it is as it was written, and nobody else can change it.
func (f *Folder) Find(p *Program) (string, error) {
	if err := f.checkFolders(); err != nil {
		return "", err
	}
	path := filepath.Join(f.Dir, p.name())
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no plain file", path)
	}
	if err := checkOwner(path, info); err != nil {
		return "", err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(in, p.Size+1))
	if err == nil && (n != p.Size || trust.Digest(sum.Sum(nil)) != p.SHA256) {
		err = fmt.Errorf("%s is damaged: it is not the program %s of the release", path, p.Version)
	}
	return path, err
}

// checkFolders refuses folders that others may change: whoever can would say what the agent runs.
func (f *Folder) checkFolders() error {
	for _, dir := range []string{f.Dir, filepath.Dir(f.Dir)} {
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is no directory", dir)
		}
		if err := checkOwner(dir, info); err != nil {
			return err
		}
	}
	return nil
}

func checkOwner(path string, info fs.FileInfo) error {
	owner := -1
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(st.Uid)
	}
	if owner != 0 && owner != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return &diag.HintError{Code: "permissions", Message: fmt.Sprintf("%s could be changed by others (owner %d, mode %04o): nothing of it is started", path, owner, info.Mode().Perm()),
			Hint: "it belongs to who runs the agent, and nobody else may write there"}
	}
	return nil
}

// Sweep removes what the record does not name, and is not to stay for another reason. A record that cannot be read names nothing: the installed program
// runs then.
func (f *Folder) Sweep(stay ...string) error {
	r, err := f.Read()
	if err != nil {
		r = &Record{}
	}
	used := map[string]bool{recordName: true}
	for _, p := range []*Program{r.Current, r.Former} {
		if p != nil {
			used[p.name()] = true
		}
	}
	for _, name := range stay {
		used[strings.TrimPrefix(name, f.Dir+"/")] = true
	}
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !used[e.Name()] {
			f.step("remove " + e.Name())
			errs = append(errs, os.RemoveAll(filepath.Join(f.Dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
