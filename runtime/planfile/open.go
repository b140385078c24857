package planfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/states"
)

// Open reads a plan file. Nothing of one that is damaged or of another format is
// used: the error is a *DamagedError or a *FormatError. Identities gives the
// keys for an encrypted one.
func Open(data []byte, identities func() ([]secrets.Identity, error)) (*Plan, error) {
	a, head, err := openArchive(data)
	if err != nil {
		return nil, err
	}
	encrypted := len(head.Sealed) > 0
	if encrypted {
		if data, err = unseal(a, head.Sealed, identities); err != nil {
			return nil, err
		}
		if a, head, err = openArchive(data); err != nil {
			return nil, err
		}
	}
	if len(head.Sealed) > 0 || head.Host == nil || head.Counts == nil {
		return nil, damaged("there is no plan in it")
	}
	p := &Plan{Program: a.Program, Created: a.Created, Host: *head.Host, Origin: head.Origin,
		Modules: head.Modules, Counts: *head.Counts, Run: &states.StateRun{}, Encrypted: encrypted}
	return p, p.read(a)
}

func openArchive(data []byte) (*Archive, planManifest, error) {
	var head planManifest
	a, err := OpenArchive(data, Format)
	if err == nil {
		err = a.About(&head)
	}
	return a, head, err
}

// unseal opens an encrypted plan with the keys of its readers.
func unseal(a *Archive, names []string, identities func() ([]secrets.Identity, error)) ([]byte, error) {
	ids, err := identities()
	if err != nil {
		return nil, err
	}
	data, err := a.Read(sealedName, MaxArchive)
	if err != nil {
		return nil, err
	}
	for i, name := range slices.Backward(names) {
		header, err := a.Read(keyName(i), secrets.MaxFile)
		if err != nil {
			return nil, err
		}
		file, list := secrets.Parse("the plan ("+name+")", header)
		if list.HasErrors() {
			return nil, list.Err()
		}
		key, err := file.Open(ids)
		if err != nil {
			return nil, err
		}
		if data, err = key.Unseal(data, MaxArchive); err != nil {
			return nil, damaged("%v", err)
		}
	}
	return data, nil
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
	for _, m := range p.Modules {
		for _, name := range m.Files {
			if !slices.Contains(names, filesDir+"/"+name) {
				return damaged("there is no %s in it", name)
			}
		}
	}
	for _, name := range names {
		if !strings.HasPrefix(name, filesDir+"/") && !strings.HasPrefix(name, treesDir+"/") && !slices.Contains([]string{runName, rowsName, placesName, secretsName}, name) {
			return damaged("%s does not belong there", name)
		}
	}
	files, err := a.Sub(filesDir)
	if err != nil {
		return fmt.Errorf("the files of the plan: %w", err)
	}
	p.Files = &planFiles{FS: files, archive: a}
	return nil
}
