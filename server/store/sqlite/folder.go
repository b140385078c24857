package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// prepare makes a folder that is for this account alone, and an empty database in it. It gives
// the folder's path without symbolic links, so that two names of it are one store.
func prepare(dir string) (string, error) {
	refuse := func(err error, advice string) error {
		return &diag.HintError{Message: "the store cannot be opened: " + err.Error(), Hint: advice, Err: err}
	}
	if strings.ContainsRune(dir, 0) || dir == "" {
		return "", refuse(fmt.Errorf("%q is no path", dir), "give the folder for the store")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", refuse(err, "give a folder that this account may write")
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", refuse(err, "give the folder for the store")
	}
	if err := own(dir); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", refuse(err, "give a folder of this account")
	}
	defer root.Close()
	for _, name := range []string{databaseName, lockName} {
		if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", refuse(fmt.Errorf("%s/%s is a symbolic link", dir, name), "the folder itself may be one, and nothing in it")
		}
		f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return "", refuse(fmt.Errorf("%s: %w", dir, err), "give a folder that this account may write")
		}
		err = f.Chmod(0o600)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", refuse(err, "give a folder of this account")
		}
	}
	return dir, nil
}

// own refuses a folder with what is not the store's: who names another one by mistake loses
// nothing, nor is locked out of it.
func own(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return &diag.HintError{Message: "the store cannot be opened: " + err.Error(), Hint: "give a folder of this account", Err: err}
	}
	for _, e := range list {
		if e.Name() != lockName && e.Name() != markName && !strings.HasPrefix(e.Name(), databaseName) {
			return &diag.HintError{Message: fmt.Sprintf("%s is not a store: it holds %q", dir, e.Name()),
				Hint: "give an empty folder, or one that does not exist"}
		}
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return &diag.HintError{Message: "the store cannot be kept from other accounts: " + err.Error(),
			Hint: "give a folder of this account, on a file system that knows permissions", Err: err}
	}
	return nil
}
