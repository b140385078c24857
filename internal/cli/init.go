package cli

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/states"
)

// skeletons are the files of new sites and components.
//
//go:embed skeletons
var skeletons embed.FS

type initCmd struct {
	Dir       string `arg:"" optional:"" default:"." help:"The directory, which is made (default: the current one)."`
	Language  string `help:"The language of the site: ${enum}." enum:"hcl,starlark" default:"hcl"`
	Component bool   `help:"Write a component in place of a site."`
}

// Run writes a small site, or a component, to begin with. It writes nothing
// where one of its files, or another state file, is there already.
func (cmd *initCmd) Run(_ runContext, s *client) error {
	from := []string{"skeletons/" + cmd.Language, "skeletons/shared"}
	if cmd.Component {
		if cmd.Language != "hcl" {
			return usage("leave --language out", "a new component is written in HCL")
		}
		from = []string{"skeletons/component"}
	}
	files, err := skeleton(from, cmd.name())
	if err != nil {
		return failure(err)
	}
	if err := checkUnused(cmd.Dir, files); err != nil {
		return err
	}
	var written []string
	for _, f := range files {
		if err := writeNew(filepath.Join(cmd.Dir, filepath.FromSlash(f.name)), f.text); err != nil {
			if len(written) > 0 {
				err = fmt.Errorf("%w (written before: %s)", err, strings.Join(written, ", "))
			}
			return failure(err)
		}
		written = append(written, f.name)
	}
	return s.printFiles(cmd, written)
}

// docsURL is where people read the documentation.
const docsURL = "https://github.com/tenetcm/tenet/blob/main/docs/"

// guides lists the pages to begin with.
func guides() []struct{ about, file string } {
	return []struct{ about, file string }{
		{"one host, step by step:", "tutorial.md"},
		{"a fleet, step by step:", "tutorial-fleet.md"},
		{"which word for what:", "choosing.md"},
	}
}

// name is that of the component in its own files.
func (cmd *initCmd) name() string {
	full, err := filepath.Abs(cmd.Dir)
	if base := filepath.Base(full); err == nil && states.IsIdentifier(base) {
		return base
	}
	return "example"
}

func (s *client) printFiles(cmd *initCmd, written []string) error {
	if s.globals.JSON {
		return s.printJSON(map[string]any{"directory": cmd.Dir, "files": written})
	}
	if s.globals.Quiet {
		return nil
	}
	var out strings.Builder
	for _, name := range written {
		fmt.Fprintln(&out, ui.Clean(filepath.Join(cmd.Dir, filepath.FromSlash(name))))
	}
	dir := ""
	if filepath.Clean(cmd.Dir) != "." {
		dir = " " + ui.Clean(cmd.Dir)
	}
	if cmd.Component {
		fmt.Fprintf(&out, "\nNext: tenet test%s, and component %q { source = \"./%s\" … } in a site.", dir, cmd.name(), cmd.name())
	} else {
		fmt.Fprintf(&out, "\nNext: tenet plan%s, tenet apply%s, tenet test%s.", dir, dir, dir)
	}
	for i, page := range guides() {
		fmt.Fprintf(&out, "\n%-7s%-26s%s%s", []string{"Then:", ""}[min(i, 1)], page.about, docsURL, page.file)
	}
	return s.print(out.String())
}

// skeletonFile is a file to be written.
type skeletonFile struct {
	name string // below the directory, with slashes
	text []byte
}

// skeleton gives the files below directories of the skeletons, sorted by name.
func skeleton(from []string, component string) ([]skeletonFile, error) {
	var files []skeletonFile
	for _, dir := range from {
		err := fs.WalkDir(skeletons, dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := skeletons.ReadFile(name)
			if dir == "skeletons/component" {
				text = bytes.ReplaceAll(text, []byte("NAME"), []byte(component))
			}
			files = append(files, skeletonFile{strings.TrimPrefix(name, dir+"/"), text})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b skeletonFile) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// checkUnused is an error if the directory holds state files, or something in the
// place of a file that is to be written.
func checkUnused(dir string, files []skeletonFile) error {
	hint := "name another directory, or an empty one"
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return newStatus(exitFailed, err, hint)
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".hcl") || strings.HasSuffix(name, ".hcl.json") || strings.HasSuffix(name, ".star") {
			return newStatus(exitFailed, fmt.Errorf("%s is there already; nothing is written", filepath.Join(dir, name)), hint)
		}
	}
	for _, f := range files {
		for at := f.name; at != "."; at = path.Dir(at) {
			full := filepath.Join(dir, filepath.FromSlash(at))
			info, err := os.Lstat(full)
			if err == nil && (at == f.name || !info.IsDir()) {
				return newStatus(exitFailed, fmt.Errorf("%s is there already; nothing is written", full), hint)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return newStatus(exitFailed, err, hint)
			}
		}
	}
	return nil
}

// writeNew writes a file that is not there yet, and the directories above it.
func writeNew(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
