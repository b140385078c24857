// Package trees deals with directories and all that is below them.
package trees

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Remove removes what is at the path with all that is below it; see host.RemoveAll.
func Remove(ctx context.Context, h host.Host, name string) error {
	at, err := host.OpenPlace(h, name)
	if err != nil {
		return err
	}
	defer at.Dir.Close()
	err = host.RemoveAll(ctx, at.Dir, at.Name)
	if mount, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, host.ErrMount) {
		return &diag.HintError{Err: fmt.Errorf("%s: %w", path.Join(path.Dir(name), mount.Path), host.ErrMount), Hint: "unmount it, or leave the directory alone"}
	}
	return Explain(name, err)
}

// Explain says of an error with what is below a path that something is too deep there, if that is why.
func Explain(name string, err error) error {
	switch {
	case !host.IsLongPath(err):
		return err
	case errors.Is(err, host.ErrUnforeseeable):
		return &states.UncertainError{Reason: "it has directories in it that are deeper than a plan can look"}
	}
	return &diag.HintError{Message: fmt.Sprintf("%s has directories in it that are more than %d deep", name, host.MaxDepth),
		Hint: "remove it by a command: rm -rf --one-file-system"}
}
