package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/packages"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
)

type fmtCmd struct {
	Paths []string `arg:"" optional:"" help:"Directories or files (default: the current directory); - formats standard input."`
	Check bool     `help:"Change nothing; end with 1 if a file is not in the canonical layout."`
	Diff  bool     `help:"Show what is changed, or would be."`

	Language string `help:"The language of standard input: ${enum}." enum:"hcl,starlark" default:"hcl"`
}

// Run rewrites state files, and lists those that it changed.
func (cmd *fmtCmd) Run(ctx runContext, s *client) error {
	if len(cmd.Paths) == 1 && cmd.Paths[0] == "-" {
		return cmd.input(s)
	}
	paths := cmd.Paths
	if len(paths) == 0 {
		paths = []string{"."}
	}
	files, err := filesToFormat(paths)
	if err != nil {
		return &status{code: exitSite, err: fmt.Errorf("there is nothing to format: %w", err)}
	}
	changed, wrong := false, false
	for _, name := range files {
		other, err := cmd.file(ctx, s, name)
		var st *status
		switch {
		case errors.As(err, &st) && st.code == exitSite:
			wrong = true // the other files are formatted all the same
		case err != nil:
			return err
		}
		changed = changed || other
	}
	switch {
	case wrong:
		return &status{code: exitSite}
	case changed && cmd.Check:
		return &status{code: exitFailed}
	}
	return nil
}

// filesToFormat lists the state files among paths. A directory stands for its own
// ones, for those of the components in it that it uses, and for their cases and
// modules; not for other files below, which the site may write to hosts.
func filesToFormat(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		found, err := stateFiles(path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// stateFiles lists the state files of a site. Symbolic links are left alone.
func stateFiles(dir string) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dirs := map[string]bool{".": true}
	loaded, _ := lang.Load(root.FS(), lang.Options{Registry: modules.Standard(), OpenPackage: (&packages.Opener{Site: root.FS()}).Open}) // what is wrong is for validate
	for _, name := range loaded.SourceNames() {
		dirs[path.Dir(name)] = true
	}
	for name := range maps.Clone(dirs) {
		dirs[path.Join(name, "tests")], dirs[path.Join(name, "modules")] = true, true
	}
	var files []string
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := fs.ReadDir(root.FS(), name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if ext := path.Ext(e.Name()); e.Type().IsRegular() && (ext == ".hcl" || ext == ".star") {
				files = append(files, filepath.Join(dir, filepath.FromSlash(name), e.Name()))
			}
		}
	}
	return files, nil
}

// format gives a file in the canonical layout.
func (s *client) format(name string, src []byte) ([]byte, error) {
	out, diags := lang.Format(name, src)
	if diags.HasErrors() {
		return nil, s.diagnoseText(name, src, diags)
	}
	return out, nil
}

// input formats standard input to standard output.
func (cmd *fmtCmd) input(s *client) error {
	name := "standard input"
	src, err := io.ReadAll(s.In)
	if err != nil {
		return failure(err)
	}
	if cmd.Language == "starlark" {
		name += ".star"
	}
	out, err := s.format(name, src)
	if err != nil {
		return err
	}
	if cmd.Check || cmd.Diff {
		if err := cmd.show(s, name, src, out); err != nil || !cmd.Check || bytes.Equal(src, out) {
			return err
		}
		return &status{code: exitFailed}
	}
	_, err = s.Out.Write(out)
	return failure(err)
}

// file rewrites one file in place, in one step.
func (cmd *fmtCmd) file(ctx context.Context, s *client, name string) (changed bool, err error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return false, failure(err)
	}
	out, err := s.format(name, src)
	if err != nil || bytes.Equal(src, out) {
		return false, err
	}
	if !cmd.Check {
		if err := replace(ctx, name, out); err != nil {
			return false, failure(fmt.Errorf("%s cannot be rewritten: %w", name, err))
		}
	}
	return true, cmd.show(s, name, src, out)
}

// show names a file that is not in the canonical layout.
func (cmd *fmtCmd) show(s *client, name string, src, out []byte) error {
	if bytes.Equal(src, out) {
		return nil
	}
	text := ui.Clean(name) + "\n"
	if cmd.Diff {
		text = fmt.Sprintf("--- %s\n+++ %s\n%s", name, name, runtime.Diff(string(src), string(out)))
	}
	_, err := io.WriteString(s.Out, text)
	return failure(err)
}

// replace puts new content in the place of a file, whose owner and mode stay.
// A symbolic link is followed first, so that it stays one.
func replace(ctx context.Context, name string, content []byte) error {
	target, err := filepath.EvalSymlinks(name)
	if err == nil {
		target, err = filepath.Abs(target)
	}
	if err != nil {
		return err
	}
	local, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		return err
	}
	info, err := local.Lstat(target)
	if err != nil {
		return err
	}
	meta := host.Meta{Mode: new(fs.FileMode(info.Mode))}
	return local.WriteFile(ctx, target, host.Text(string(content)), meta)
}
