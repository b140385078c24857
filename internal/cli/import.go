package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/statefile"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/importer"
	"github.com/tenetcm/tenet/runtime/machine"
)

type importCmd struct {
	Args     []string `arg:"" optional:"" name:"TYPE KEY [attr=value]" help:"The type of a part and its key, such as file /etc/motd, with the other keys of types that have several. With --all: the paths whose files are read."`
	All      []string `help:"Declare all that somebody has set up: packages, services, users, groups, files, or any type that can be listed." placeholder:"WHAT"`
	Out      string   `help:"Write a site into this directory, in place of printing it; for several hosts, a site for each into a directory of its name." placeholder:"DIR"`
	Language string   `help:"The language to write: ${enum}." enum:"hcl,starlark" default:"hcl"`
	Star     bool     `help:"The same as --language starlark."`

	modules *modulesHere // once Run has begun
}

// inlineInFiles bounds the contents that stand in state files, where others may stand
// beside them.
const inlineInFiles = 8 << 10

// Run declares what stands on machines.
func (cmd *importCmd) Run(ctx runContext, s *client) (err error) {
	if cmd.Star {
		cmd.Language = string(statefile.Starlark)
	}
	if cmd.modules, err = newModulesHere(); err != nil {
		return err
	}
	// What is wrong with it is wrong whatever a host's home is.
	if _, err := cmd.request(ctx, s, func() (string, error) { return "/", nil }); err != nil {
		return err
	}
	t, err := s.targets(ctx)
	if err != nil {
		return err
	}
	switch {
	case len(t.hosts) == 1 || cmd.Out != "" || s.globals.JSON:
	case len(cmd.All) == 0:
		return usage("name one with -l, or take --json", "one part is printed, and these are %d hosts", len(t.hosts))
	default:
		return usage("name one with -l, or write a site for each: --out DIR", "one site is printed, and these are %d hosts", len(t.hosts))
	}
	list, err := ask(ctx, s, t, askOne("import", true, func(ctx context.Context, m *fleet.Member) (*machine.Import, error) { return cmd.ask(ctx, s, m) }))
	if err != nil {
		return err
	}
	if cmd.Out != "" {
		return cmd.write(ctx, s, t, list)
	}
	return cmd.print(s, t, list)
}

// ask reads what is asked for on one machine.
func (cmd *importCmd) ask(ctx context.Context, s *client, m *fleet.Member) (*machine.Import, error) {
	i, err := importerOf(m)
	if err != nil {
		return nil, err
	}
	r, err := cmd.request(ctx, s, func() (string, error) { return s.homeOf(ctx, m) })
	if err != nil {
		return nil, machine.ErrorOf(err)
	}
	found, err := i.Import(ctx, r, machine.Observer{})
	if err != nil {
		return nil, err
	}
	if err := importer.Check(r, found, cmd.modules.Lookup); err != nil {
		return nil, machine.ErrorOf(fmt.Errorf("what it tells cannot be: %w", err))
	}
	if len(cmd.All) > 0 {
		return found, nil
	}
	if len(found.Omissions) > 0 {
		left := &diag.HintError{Message: found.Omissions[0].What + ": " + found.Omissions[0].Why}
		if found.Omissions[0].Secret {
			left.Hint = `keep it with "tenet secret", and write the part by hand with content = secret("NAME")`
		}
		return nil, machine.ErrorOf(left)
	}
	if len(found.Areas) != 1 || len(found.Areas[0].Parts) != 1 {
		return nil, machine.ErrorOf(errors.New("it has told of no part"))
	}
	return found, nil
}

// importerOf gives what tells what is set up on a machine.
func importerOf(m *fleet.Member) (machine.Importer, error) {
	i, ok := m.Machine.(machine.Importer)
	if !ok {
		return nil, machine.ErrorOf(&diag.HintError{Code: machine.CodeUnsupported, Message: "it cannot tell what is set up there"})
	}
	return i, nil
}

// homeOf asks a machine for the acting user's home directory, unless the command line gives it.
func (s *client) homeOf(ctx context.Context, m *fleet.Member) (string, error) {
	given, err := s.facts(nil)
	if err != nil {
		return "", err
	}
	known, err := m.Facts(ctx, []string{"home"})
	if err != nil {
		return "", err
	}
	overlay(known, given)
	home, err := known.Fact("home")
	return fmt.Sprint(home), err
}

// request says what is to be read. Home gives the acting user's home directory.
func (cmd *importCmd) request(ctx context.Context, s *client, home func() (string, error)) (r machine.ImportRequest, err error) {
	if len(cmd.All) > 0 {
		return cmd.requestAll()
	}
	switch {
	case len(cmd.Args) == 0:
		return r, usage("tenet import TYPE KEY, or tenet import --all packages,services", "nothing is named that is to be read")
	case cmd.Out != "":
		return r, usage("tenet import --all WHAT --out DIR writes a site", "--out is of use with --all only: one part is printed")
	}
	module, keys, err := cmd.keys(ctx, s, home)
	if err != nil {
		return r, err
	}
	r = machine.ImportRequest{Type: module.Name, Keys: keys}
	if cmd.modules.own.File(module.Name) != "" {
		r.Modules, err = cmd.modules.archive()
	}
	return r, err
}

// requestAll is for all that somebody has set up.
func (cmd *importCmd) requestAll() (r machine.ImportRequest, err error) {
	registry := cmd.modules.Registry
	types, err := importer.Types(registry, cmd.All)
	if err != nil {
		return r, usage("packages, services, users, groups, files, "+strings.Join(importer.ListableTypes(registry), ", "), "%w", err)
	}
	for _, m := range types {
		r.List = append(r.List, m.Name)
	}
	files := slices.ContainsFunc(r.List, func(name string) bool { return slices.Contains([]string{"file", "directory", "symlink"}, name) })
	switch {
	case files && len(cmd.Args) == 0:
		return r, usage("tenet import --all files /etc/nginx", "files are read below paths, and none is given")
	case !files && len(cmd.Args) > 0:
		return r, usage("tenet import --all "+strings.Join(append(cmd.All, "files"), ",")+" "+cmd.Args[0], "%q is given, and no files are asked for", cmd.Args[0])
	}
	for _, p := range cmd.Args {
		if !path.IsAbs(p) {
			return r, usage("write it from the root: "+path.Join("/", p), "%q is no absolute path", p)
		}
		r.Paths = append(r.Paths, path.Clean(p))
	}
	if cmd.Out != "" {
		r.Inline, r.Files = inlineInFiles, true
	}
	return r, nil
}

// archive is a ZIP archive of the site's own modules.
func (m *modulesHere) archive() ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range m.own.Files() {
		text, _ := m.own.Source(name) // it is one of those that were read
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write(text)
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}
