// Package trees deals with directories and all that is below them.
package trees

import (
	"context"
	"path"

	"github.com/tenetcm/tenet/runtime/host"
)

// Remove removes what is at the path with all that is below it. Symbolic
// links are removed, never followed.
func Remove(ctx context.Context, h host.Host, name string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	info, err := h.Lstat(name)
	if err != nil {
		return err
	}
	if info.Kind == host.Directory {
		entries, err := h.ReadDir(name)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := Remove(ctx, h, path.Join(name, e.Name)); err != nil {
				return err
			}
		}
	}
	return h.Remove(name)
}
