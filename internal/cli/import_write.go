package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/statefile"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/importer"
	"github.com/tenetcm/tenet/runtime/machine"
)

// importedFolder is the site of one machine, as it is to be written.
type importedFolder struct {
	dir    string
	files  []skeletonFile // those with text, and then those whose content the machine gives
	copies []string       // the paths of the latter on the machine
	sizes  map[string]int64
	found  *machine.Import
}

// writtenSite is what was written, as JSON.
type writtenSite struct {
	Directory string             `json:"directory"`
	Files     []string           `json:"files"`
	LeftOut   []machine.Omission `json:"left_out"`
}

// write puts sites into directories. It writes nothing where one of the files, or
// another state file, is there already. State files come last, so that a directory whose files are not all there is no site.
func (cmd *importCmd) write(ctx context.Context, s *client, t *targets, list []*answer[*machine.Import]) error {
	folders := map[string]*importedFolder{} // by host
	var copying targets
	for i, a := range list {
		if !a.replied() {
			continue
		}
		f, err := cmd.folder(t, a)
		if err != nil {
			return err
		}
		if err := checkUnused(f.dir, f.files); err != nil {
			return err
		}
		folders[a.host.Name] = f
		if len(f.copies) > 0 {
			copying.hosts, copying.members = append(copying.hosts, t.hosts[i]), append(copying.members, t.members[i])
		}
	}
	failed, err := cmd.copy(ctx, s, &copying, folders)
	if err != nil {
		return err
	}
	for _, a := range list {
		if o, ok := failed[a.host.Name]; ok {
			a.outcome = o
			continue
		}
		if !a.replied() {
			continue
		}
		if err := folders[a.host.Name].write(); err != nil {
			return err
		}
	}
	return cmd.tell(s, t, list, folders)
}

// copy writes the files whose content machines give, and tells of which machines not all came.
func (cmd *importCmd) copy(ctx context.Context, s *client, t *targets, folders map[string]*importedFolder) (failed map[string]fleet.Outcome, err error) {
	if len(t.hosts) == 0 {
		return nil, nil
	}
	list, err := ask(ctx, s, t, askOne("import", false, func(ctx context.Context, m *fleet.Member) (struct{}, error) {
		i, err := importerOf(m)
		if err == nil {
			f := folders[m.Name]
			err = receiveContents(ctx, i, filepath.Join(f.dir, "files"), f.copies, f.sizes)
		}
		return struct{}{}, err
	}))
	failed = map[string]fleet.Outcome{}
	for _, a := range list {
		if a.outcome.Status != fleet.Done {
			failed[a.host.Name] = a.outcome
		}
	}
	return failed, err
}

// folder lays out what was read on a machine.
func (cmd *importCmd) folder(t *targets, a *answer[*machine.Import]) (*importedFolder, error) {
	f := &importedFolder{dir: cmd.Out, found: a.value}
	if len(t.hosts) > 1 {
		f.dir = filepath.Join(cmd.Out, a.host.Name)
	}
	heading, err := cmd.heading(t, a)
	if err != nil {
		return nil, err
	}
	f.files = []skeletonFile{{"site" + cmd.extension(), heading}}
	for _, area := range a.value.Areas {
		text, err := cmd.layOut(statefile.Language(cmd.Language).Text(area))
		if err != nil {
			return nil, err
		}
		f.files = append(f.files, skeletonFile{area.Name + cmd.extension(), text})
	}
	f.copies, f.sizes = importer.Copies(a.value)
	for _, name := range f.copies {
		f.files = append(f.files, skeletonFile{"files" + name, nil})
	}
	return f, nil
}

// heading is what stands in the file that the site begins with. The site of a host declares it: it is meant for no other machine.
func (cmd *importCmd) heading(t *targets, a *answer[*machine.Import]) ([]byte, error) {
	what := "this machine"
	if t.hasNames {
		what = a.host.Name
	}
	text := "# What is set up on " + what + ", as tenet import found it.\n#\n#     tenet plan      shows what is different since\n"
	if remarks := statefile.Remarks(a.value); remarks != "" {
		text += "\n" + remarks
	}
	if !t.hasNames {
		return []byte(text), nil
	}
	return cmd.layOut(text + "\n" + statefile.Language(cmd.Language).Host(a.host))
}

// write writes the state files.
func (f *importedFolder) write() error {
	written := len(f.copies)
	for _, file := range f.files[:len(f.files)-len(f.copies)] {
		if err := writeNew(filepath.Join(f.dir, filepath.FromSlash(file.name)), file.text); err != nil {
			return failure(fmt.Errorf("%w (%d files of the site are written in %s)", err, written, f.dir))
		}
		written++
	}
	return nil
}

// tell says what was written, and what was not.
func (cmd *importCmd) tell(s *client, t *targets, list []*answer[*machine.Import], folders map[string]*importedFolder) error {
	if s.globals.JSON {
		return s.printAnswers(t, common(list), func(i int) (any, any) {
			f := folders[list[i].host.Name]
			v := writtenSite{Directory: f.dir, Files: []string{}, LeftOut: f.found.Omissions}
			for _, file := range f.files {
				v.Files = append(v.Files, file.name)
			}
			return v, hostImport{list[i].host.Name, v}
		})
	}
	var err error
	first := true
	for _, a := range list {
		if !a.replied() || s.globals.Quiet {
			continue
		}
		text := folders[a.host.Name].summary()
		if !first {
			text = "\n" + text
		}
		first = false
		err = errors.Join(err, s.print(text))
	}
	return errors.Join(err, s.showFailures(t, common(list)))
}

// summary tells what was written for people.
func (f *importedFolder) summary() string {
	var out strings.Builder
	for _, file := range f.files {
		fmt.Fprintln(&out, ui.Clean(filepath.Join(f.dir, filepath.FromSlash(file.name))))
	}
	if len(f.found.Omissions) > 0 {
		fmt.Fprintln(&out, "\nLeft out:")
	}
	for _, m := range f.found.Omissions {
		fmt.Fprintf(&out, "  %s: %s\n", ui.Clean(m.What), ui.Clean(m.Why))
	}
	fmt.Fprintf(&out, "\nNext: tenet plan %s, which says \"no change\".", ui.Clean(f.dir))
	return out.String()
}
