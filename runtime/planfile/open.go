package planfile

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Open reads a plan file. Nothing of one that is damaged or of another format is
// used: the error is a *DamagedError or a *FormatError. Identities gives the
// keys for an encrypted one.
func Open(data []byte, identities func() ([]secrets.Identity, error)) (*Plan, error) {
	a, head, encrypted, err := openSealed(data, Format, identities)
	if err != nil {
		return nil, err
	}
	if head.Host == nil || head.Counts == nil {
		return nil, damaged("there is no plan in it")
	}
	p := &Plan{Program: a.Program, Created: a.Created, Host: *head.Host, Origin: head.Origin,
		Modules: head.Modules, Counts: *head.Counts, Run: &states.StateRun{}, Encrypted: encrypted, Failed: head.Failed}
	return p, p.read(a)
}

// read takes what an archive holds.
func (p *Plan) read(a *Archive) error {
	if err := a.JSON(runName, maxJSON, p.Run); err != nil {
		return err
	}
	if p.Run.Format != states.Format {
		return &FormatError{Format: p.Run.Format, Known: states.Format, Program: a.Program}
	}
	if err := a.JSON(rowsName, maxJSON, &p.Rows); err != nil {
		return err
	}
	if err := a.JSON(placesName, maxJSON, &p.Places); err != nil {
		return err
	}
	names := a.Names()
	if slices.Contains(names, secretsName) {
		if err := a.JSON(secretsName, maxJSON, &p.Run.Secrets); err != nil {
			return err
		}
	}
	var err error
	p.Files, err = filesIn(a, p.Modules, func(name string) bool {
		return slices.Contains([]string{runName, rowsName, placesName, secretsName}, name)
	})
	return err
}

// filesIn gives the files of the site that an archive holds. Beside them it holds nothing but
// what is known by its name.
func filesIn(a *Archive, modules []machine.Modules, isKnown func(name string) bool) (fs.FS, error) {
	names := a.Names()
	for _, m := range modules {
		for _, name := range m.Files {
			if _, found := slices.BinarySearch(names, filesDir+"/"+name); !found {
				return nil, damaged("there is no %s in it", name)
			}
		}
	}
	for _, name := range names {
		if !strings.HasPrefix(name, filesDir+"/") && !strings.HasPrefix(name, treesDir+"/") && !isKnown(name) {
			return nil, damaged("%s does not belong there", name)
		}
	}
	files, err := a.Sub(filesDir)
	if err != nil {
		return nil, fmt.Errorf("the files of the plan: %w", err)
	}
	return &planFiles{FS: files, archive: a}, nil
}
