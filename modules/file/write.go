package file

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		return owner.SetMeta(ctx, h, want.Path, meta, have.Content)
	}
	backup := have != nil && want.Backup != nil && *want.Backup
	if len(want.Validate) == 0 && !backup {
		return states.DirectoryError(h, path.Dir(want.Path), h.WriteFile(ctx, want.Path, *want.Content, meta))
	}
	at, err := host.OpenPlace(h, want.Path)
	if err != nil {
		return states.DirectoryError(h, path.Dir(want.Path), err)
	}
	r := &replacement{host: h, at: at, want: want, meta: meta}
	return errors.Join(r.carryOut(ctx, backup), at.Dir.Close())
}

// replacement is a file that is replaced in several steps. They are all made in the one
// directory, wherever its path leads by then: else somebody who owns a folder could have
// their own file put back in a folder of root's.
type replacement struct {
	host host.Host
	at   host.Place
	want File
	meta host.Meta
}

func (r *replacement) carryOut(ctx context.Context, backup bool) error {
	if err := r.checkBeside(ctx); err != nil {
		return err
	}
	forget := func() error { return nil }
	if backup {
		var err error
		if forget, err = r.backUp(ctx); err != nil {
			return fmt.Errorf("keeping the former file: %w", err)
		}
	}
	if len(r.want.Validate) == 0 || besideCheck(r.want) {
		return r.write(ctx, r.at.Name, *r.want.Content, r.meta)
	}
	if err := r.writeChecked(ctx); err != nil {
		return errors.Join(err, forget())
	}
	return nil
}

func (r *replacement) write(ctx context.Context, name string, c host.Content, m host.Meta) error {
	return r.at.Dir.WriteFile(ctx, name, c, m, false)
}

// backUp keeps the file beside itself, but not as a program with the rights of others: it may
// be replaced for its holes. forget removes the copy again, unless there was one before.
func (r *replacement) backUp(ctx context.Context) (forget func() error, err error) {
	name := r.at.Name + backupSuffix
	_, err = r.at.Dir.Lstat(name)
	forget = func() error { return r.at.Dir.Remove(name) }
	if !errors.Is(err, fs.ErrNotExist) {
		forget = func() error { return nil }
	}
	content, info, err := host.CopyContentIn(ctx, r.at.Dir, r.at.Name)
	if err != nil {
		return nil, err
	}
	return forget, r.write(ctx, name, content, host.Meta{Mode: new(info.Mode &^ host.SetIDBits), UID: &info.UID, GID: &info.GID, Like: r.at.Name})
}

// besideCheck reports whether the new content is checked in a temporary file.
func besideCheck(want File) bool {
	return slices.ContainsFunc(want.Validate, func(a string) bool { return strings.Contains(a, "%s") })
}

// checkBeside puts the new content into a temporary file beside the wanted one,
// for the program that validates it.
func (r *replacement) checkBeside(ctx context.Context) error {
	if !besideCheck(r.want) {
		return nil
	}
	temporary := host.TempName(r.host)
	if err := r.write(ctx, temporary, *r.want.Content, r.meta); err != nil {
		return err
	}
	err := runCheck(ctx, r.host, r.want.Validate, path.Join(path.Dir(r.want.Path), temporary))
	return errors.Join(err, r.at.Dir.Remove(temporary))
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
func (r *replacement) writeChecked(ctx context.Context) error {
	was, err := r.keep()
	if err != nil {
		return fmt.Errorf("keeping the former file: %w", err)
	}
	if err = r.write(ctx, r.at.Name, *r.want.Content, r.meta); err == nil {
		if err = runCheck(ctx, r.host, r.want.Validate, r.want.Path); err != nil {
			// The former file comes back though the run is being cancelled.
			err = errors.Join(err, was.putBack(context.WithoutCancel(ctx), r.at))
		}
	}
	return errors.Join(err, was.close())
}

// recoverAct checks content that a run has put in place which did not live to see
// it checked.
func recoverAct(ctx context.Context, h host.Host, want File, begun states.Begun) (states.Outcome, error) {
	if len(want.Validate) == 0 || besideCheck(want) {
		return states.Changed, nil
	}
	if err := runCheck(ctx, h, want.Validate, want.Path); err != nil {
		return states.Unknown, fmt.Errorf("run %s has put it in place and did not end: %w", begun.Run, err)
	}
	return states.Changed, nil
}

// former is what stood at a place.
type former struct {
	info   host.Info     // without a Kind: nothing
	target string        // of a link
	file   io.ReadCloser // a regular one, which lives on while it is open
}

func (r *replacement) keep() (f *former, err error) {
	f = &former{}
	f.info, err = r.at.Dir.Lstat(r.at.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, err
	case f.info.Kind == host.Symlink:
		f.target, err = r.at.Dir.ReadLink(r.at.Name)
		return f, err
	}
	f.file, f.info, err = r.at.Dir.Open(r.at.Name)
	return f, err
}

// putBack makes a place what it was; it is called once.
func (f *former) putBack(ctx context.Context, at host.Place) error {
	meta := host.Meta{Mode: &f.info.Mode, UID: &f.info.UID, GID: &f.info.GID}
	switch {
	case f.info.Kind == host.Symlink:
		return at.Dir.Symlink(f.target, at.Name, meta)
	case f.file != nil:
		file := f.file
		f.file = nil // who writes closes it
		return at.Dir.WriteFile(ctx, at.Name, host.Restored(file), meta, false)
	}
	return at.Dir.Remove(at.Name)
}

func (f *former) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}
