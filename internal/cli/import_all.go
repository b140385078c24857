package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/importer"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/host"
)

// inlineInFiles bounds the contents that stand in state files, where others may stand
// beside them.
const inlineInFiles = 8 << 10

// importAll declares what somebody has set up on this machine.
func (cmd *importCmd) importAll(ctx runContext, s *client, h *host.Local) error {
	registry, err := newModulesHere()
	if err != nil {
		return err
	}
	types, err := importer.Types(registry.Registry, cmd.All)
	if err != nil {
		return usage("packages, services, users, groups, files, "+strings.Join(importer.ListableTypes(registry.Registry), ", "), "%w", err)
	}
	if err := cmd.checkPaths(h); err != nil {
		return err
	}
	options := importer.Options{}
	if cmd.Out != "" {
		options = importer.Options{Inline: inlineInFiles, Files: true}
	}
	found, err := importer.Import(ctx, h, types, cmd.Args, options)
	if err != nil {
		return failure(err)
	}
	if cmd.Out != "" {
		return cmd.write(s, h, found)
	}
	if s.globals.JSON {
		return s.printJSON(found)
	}
	var text strings.Builder
	text.WriteString(found.Remarks())
	for _, a := range found.Areas {
		text.WriteString("\n" + importer.Language(cmd.Language).Text(a))
	}
	out, err := cmd.text(strings.TrimLeft(text.String(), "\n"))
	if err == nil {
		_, err = s.Out.Write(out)
	}
	return unread(failure(err))
}

// checkPaths wants paths where they are needed, and only there.
func (cmd *importCmd) checkPaths(h host.Host) error {
	files := slices.ContainsFunc(cmd.All, func(word string) bool {
		return slices.Contains([]string{"files", "file", "directory", "symlink"}, word)
	})
	switch {
	case files && len(cmd.Args) == 0:
		return usage("tenet import --all files /etc/nginx", "files are read below paths, and none is given")
	case !files && len(cmd.Args) > 0:
		return usage("tenet import --all "+strings.Join(append(cmd.All, "files"), ",")+" "+cmd.Args[0], "%q is given, and no files are asked for", cmd.Args[0])
	}
	for i, p := range cmd.Args {
		if !path.IsAbs(p) {
			return usage("write it from the root: "+path.Join("/", p), "%q is no absolute path", p)
		}
		cmd.Args[i] = path.Clean(p)
		if _, err := h.Lstat(cmd.Args[i]); err != nil {
			return failure(err)
		}
	}
	return nil
}

// write puts the site into a directory. It writes nothing where one of its files, or
// another state file, is there already.
func (cmd *importCmd) write(s *client, h *host.Local, found *importer.Site) error {
	language := importer.Language(cmd.Language)
	ext := map[importer.Language]string{importer.HCL: ".hcl", importer.Starlark: ".star"}[language]
	heading := "# What is set up on this machine, as tenet import found it.\n#\n#     tenet plan      shows what is different since\n"
	if remarks := found.Remarks(); remarks != "" {
		heading += "\n" + remarks
	}
	files := []skeletonFile{{"site" + ext, []byte(heading)}}
	var copies []string
	for _, a := range found.Areas {
		text, err := cmd.text(language.Text(a))
		if err != nil {
			return err
		}
		files = append(files, skeletonFile{a.Name + ext, text})
		for _, p := range a.Parts {
			if p.Copy != "" {
				files = append(files, skeletonFile{"files" + p.Copy, nil})
				copies = append(copies, p.Copy)
			}
		}
	}
	if err := checkUnused(cmd.Out, files); err != nil {
		return err
	}
	var written []string
	for _, f := range files {
		full := filepath.Join(cmd.Out, filepath.FromSlash(f.name))
		var err error
		if name := strings.TrimPrefix(f.name, "files"); slices.Contains(copies, name) {
			err = copyOut(h, name, full)
		} else {
			err = writeNew(full, f.text)
		}
		if err != nil {
			return failure(fmt.Errorf("%w (written before: %s)", err, strings.Join(written, ", ")))
		}
		written = append(written, f.name)
	}
	if s.globals.JSON {
		return s.printJSON(map[string]any{"directory": cmd.Out, "files": written, "left_out": found.Omissions})
	}
	return cmd.tell(s, found, written)
}

// tell says what was written, and what was not.
func (cmd *importCmd) tell(s *client, found *importer.Site, written []string) error {
	if s.globals.Quiet {
		return nil
	}
	var out strings.Builder
	for _, name := range written {
		fmt.Fprintln(&out, ui.Clean(filepath.Join(cmd.Out, filepath.FromSlash(name))))
	}
	if len(found.Omissions) > 0 {
		fmt.Fprintln(&out, "\nLeft out:")
	}
	for _, m := range found.Omissions {
		fmt.Fprintf(&out, "  %s: %s\n", ui.Clean(m.What), ui.Clean(m.Why))
	}
	fmt.Fprintf(&out, "\nNext: tenet plan %s, which says \"no change\".", ui.Clean(cmd.Out))
	return s.print(out.String())
}

// copyOut copies a file of the host into the site. What others may not read there
// they may not read here.
func copyOut(h *host.Local, name, to string) error {
	info, err := h.Lstat(name)
	if err != nil {
		return err
	}
	from, err := h.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	mode := os.FileMode(0o666)
	if info.Mode&0o004 == 0 {
		mode = 0o600
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
