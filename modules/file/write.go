package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// backupSuffix ends in "~", which run-parts, sudo, cron and apt pass over.
const backupSuffix = ".~tenet~"

func write(ctx context.Context, h host.Host, have *File, want File) error {
	meta, err := owner.Meta(h, want.Owner, want.Group, want.Mode)
	if err != nil {
		return err
	}
	if have != nil && (want.Content == nil || have.Content.Equal(*want.Content)) {
		return h.SetMeta(want.Path, meta)
	}
	if err := checkBeside(ctx, h, want, meta); err != nil {
		return err
	}
	forget := func() error { return nil }
	if have != nil && want.Backup != nil && *want.Backup {
		if forget, err = backUp(ctx, h, want.Path); err != nil {
			return fmt.Errorf("keeping the former file: %w", err)
		}
	}
	if len(want.Validate) > 0 && !besideCheck(want) {
		if err := writeChecked(ctx, h, want, meta); err != nil {
			return errors.Join(err, forget())
		}
		return nil
	}
	return explain(h.WriteFile(ctx, want.Path, *want.Content, meta), want.Path)
}

// backUp keeps the file beside itself, but not as a program with the rights of others: it may
// be replaced for its holes. forget removes the copy again, unless there was one before.
func backUp(ctx context.Context, h host.Host, name string) (forget func() error, err error) {
	_, err = h.Lstat(name + backupSuffix)
	forget = func() error { return h.Remove(name + backupSuffix) }
	if !errors.Is(err, fs.ErrNotExist) {
		forget = func() error { return nil }
	}
	return forget, copyFile(ctx, h, name, name+backupSuffix, host.SetIDBits)
}

// explain adds which directory is missing.
func explain(err error, name string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the directory %s is not there: %w", path.Dir(name), err)
	}
	return err
}

// besideCheck reports whether the new content is checked in a temporary file.
func besideCheck(want File) bool {
	return slices.ContainsFunc(want.Validate, func(a string) bool { return strings.Contains(a, "%s") })
}

// checkBeside puts the new content into a temporary file beside the wanted one,
// for the program that validates it.
func checkBeside(ctx context.Context, h host.Host, want File, meta host.Meta) error {
	if !besideCheck(want) {
		return nil
	}
	temporary := path.Join(path.Dir(want.Path), host.TempName(h))
	if err := h.WriteFile(ctx, temporary, *want.Content, meta); err != nil {
		return explain(err, want.Path)
	}
	err := runCheck(ctx, h, want.Validate, temporary)
	return errors.Join(err, h.Remove(temporary))
}

// runCheck runs the program that validates. In a plan it is not run, and the
// content is taken as valid.
func runCheck(ctx context.Context, h host.Host, validate []string, file string) error {
	argv := make([]string, len(validate))
	for i, arg := range validate {
		argv[i] = strings.ReplaceAll(arg, "%s", file)
	}
	_, err := process.Run(ctx, h, host.Command{Argv: argv, Check: true})
	if err == nil || errors.Is(err, host.ErrUnforeseeable) {
		return nil
	}
	return fmt.Errorf("the new content is not valid: %w", err)
}

// writeChecked writes the file, validates it in its place, and puts back what
// was there if it is not valid.
func writeChecked(ctx context.Context, h host.Host, want File, meta host.Meta) error {
	putBack, forget, err := keep(ctx, h, want.Path)
	if err != nil {
		return fmt.Errorf("keeping the former file: %w", err)
	}
	err = explain(h.WriteFile(ctx, want.Path, *want.Content, meta), want.Path)
	if err == nil {
		if err = runCheck(ctx, h, want.Validate, want.Path); err != nil {
			// The former file comes back though the run is being cancelled.
			err = errors.Join(err, putBack(context.WithoutCancel(ctx)))
		}
	}
	return errors.Join(err, forget())
}

// recovered checks content that a run has put in place which did not live to see
// it checked.
func recovered(ctx context.Context, h host.Host, want File, begun states.Begun) (states.Outcome, error) {
	if len(want.Validate) == 0 || besideCheck(want) {
		return states.Changed, nil
	}
	if err := runCheck(ctx, h, want.Validate, want.Path); err != nil {
		return states.Unknown, fmt.Errorf("run %s has put it in place and did not end: %w", begun.Run, err)
	}
	return states.Changed, nil
}

// keep remembers what stands at a path: putBack restores it, forget ends the
// need to. What does not fit in memory is copied beside it.
func keep(ctx context.Context, h host.Host, name string) (putBack func(context.Context) error, forget func() error, err error) {
	nothing := func() error { return nil }
	info, err := h.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func(context.Context) error { return h.Remove(name) }, nothing, nil
	case err != nil:
		return nil, nil, err
	}
	meta := host.Meta{Mode: &info.Mode, UID: &info.UID, GID: &info.GID}
	if info.Kind == host.Symlink {
		target, err := h.ReadLink(name)
		return func(context.Context) error { return h.Symlink(target, name, meta) }, nothing, err
	}
	content, err := host.CopyContent(ctx, h, name, info)
	if err != nil {
		return nil, nil, err
	}
	if _, inline := content.Inline(); inline {
		return func(ctx context.Context) error { return h.WriteFile(ctx, name, content, meta) }, nothing, nil
	}
	side := path.Join(path.Dir(name), host.TempName(h))
	if err := copyFile(ctx, h, name, side, 0); err != nil {
		return nil, nil, err
	}
	putBack = func(ctx context.Context) error { return copyFile(ctx, h, side, name, 0) }
	return putBack, func() error { return h.Remove(side) }, nil
}

// copyFile makes to a copy of the regular file from, with its owner, and its mode without
// these bits.
func copyFile(ctx context.Context, h host.Host, from, to string, without fs.FileMode) error {
	info, err := h.Lstat(from)
	if err != nil {
		return err
	}
	content, err := host.CopyContent(ctx, h, from, info)
	if err != nil {
		return err
	}
	return h.WriteFile(ctx, to, content, host.Meta{Mode: new(info.Mode &^ without), UID: &info.UID, GID: &info.GID, Like: path.Base(from)})
}
