package states

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
)

// Errors of what is, or is not, where a part is to write. Modules say them in the same words.

// DirectoryError says of an error of making something in a directory, or of working there, that
// the directory is missing, if it is, and how a site declares it. Any other error, and nil, stays
// as it is.
func DirectoryError(h host.Reader, dir string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || !isMissing(h, dir) {
		return err
	}
	body := "{}"
	if isMissing(h, path.Dir(dir)) {
		body = "{ parents = true }"
	}
	return &diag.HintError{Code: codeMissing, Err: err, Message: fmt.Sprintf("the directory %s is not there", dir),
		Hint: fmt.Sprintf("declare before it what makes the directory, such as: directory %q %s", dir, body)}
}

// codeMissing is the word for programs for what is not there.
const codeMissing = "not_found"

func isMissing(h host.Reader, at string) bool {
	_, err := h.Lstat(at)
	return errors.Is(err, fs.ErrNotExist)
}

// WrongKindError says that at a path is something of a kind that the part neither manages nor
// replaces. Wanted is what it manages, such as "file".
func WrongKindError(at string, kind host.Kind, wanted string) error {
	other, remove := "another path", fmt.Sprintf("absent %q {}", at)
	switch kind {
	case host.Symlink:
		other = "the path that it leads to"
	case host.Directory:
		remove = fmt.Sprintf("absent %q { force = true }, which takes all that it holds", at)
	}
	return &diag.HintError{Code: "wrong_kind", Message: fmt.Sprintf("%s is a %s, not a %s", at, kind, wanted),
		Hint: fmt.Sprintf("give %s, or remove the %s before: %s", other, kind, remove)}
}
