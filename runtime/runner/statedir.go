package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// StateDir is where the records of runs are kept: in the folder that is given, below the
// tree that is acted on, or where the acting user's is. One that other accounts could
// change is refused.
func StateDir(given, root string, getenv func(string) string) (string, error) {
	dir, err := stateDir(given, root, getenv)
	if err != nil {
		return "", err
	}
	if given != "" {
		root = "" // it is not below that tree, or somebody has chosen that it is
	}
	if err := journal.CheckFolder(dir, root); err != nil {
		return "", &diag.HintError{Err: fmt.Errorf("the state folder cannot be used: %w", err), Hint: elsewhere}
	}
	return dir, nil
}

func stateDir(given, root string, getenv func(string) string) (string, error) {
	switch {
	case given != "":
		return filepath.Abs(given)
	case root != "" && root != "/":
		return stateBelow(root)
	case os.Geteuid() == 0:
		return "/var/lib/tenet", nil
	case filepath.IsAbs(getenv("XDG_STATE_HOME")): // others are to be ignored, says the XDG specification
		return filepath.Join(getenv("XDG_STATE_HOME"), "tenet"), nil
	case getenv("HOME") != "":
		return filepath.Join(getenv("HOME"), ".local/state/tenet"), nil
	}
	return "", &diag.HintError{Code: machine.CodeUsage, Message: "there is no HOME to keep the records of runs in", Hint: "give --state-dir DIR"}
}

// stateBelow is the state folder within a tree, which no symbolic link may lead
// out of it.
func stateBelow(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", &diag.HintError{Code: machine.CodeUsage, Err: fmt.Errorf("--root: %w", err)}
	}
	defer root.Close()
	if _, err := root.Stat("var/lib/tenet"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", &diag.HintError{Err: fmt.Errorf("the state folder below %s cannot be used: %w", dir, err), Hint: elsewhere}
	}
	return filepath.Abs(filepath.Join(dir, "var/lib/tenet"))
}
