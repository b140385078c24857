package planfile

import (
	"fmt"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/secrets"
)

// seal encrypts an archive for the readers of each of the files, one after the
// other: who opens it must be a reader of all.
func seal(format, program string, created time.Time, data []byte, keys []*secrets.File) ([]byte, error) {
	var names []string
	var err error
	for _, key := range keys {
		if data, err = key.Seal(data); err != nil {
			return nil, err
		}
		names = append(names, key.Name())
	}
	w, err := NewArchive(format, program, created, planManifest{Sealed: names})
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		if err := w.Add(keyName(i), key.Header()); err != nil {
			return nil, err
		}
	}
	if err := w.Add(sealedName, data); err != nil {
		return nil, err
	}
	return w.Bytes()
}

func keyName(i int) string { return fmt.Sprintf("%s%04d", keyPrefix, i) }

// openSealed opens an archive, or the one that is encrypted in it.
func openSealed(data []byte, format string, identities func() ([]secrets.Identity, error)) (*Archive, planManifest, bool, error) {
	a, head, err := openArchive(data, format)
	if err != nil || len(head.Sealed) == 0 {
		return a, head, false, err
	}
	if data, err = unseal(a, head.Sealed, identities); err != nil {
		return nil, head, true, err
	}
	if a, head, err = openArchive(data, format); err == nil && len(head.Sealed) > 0 {
		err = damaged("there is no plan in it")
	}
	return a, head, true, err
}

func openArchive(data []byte, format string) (*Archive, planManifest, error) {
	var head planManifest
	a, err := OpenArchive(data, format)
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
