package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tenetcm/tenet/runtime/agent/held"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
)

// assignmentFolder has the assignments that a host has accepted, a file each: what was signed.
type assignmentFolder struct{ folder folder }

// load reads what is held. An assignment stays held whoever is trusted meanwhile: it was checked when it was accepted.
func (h assignmentFolder) load(host trust.ID) (map[string]*control.Assigned, error) {
	names, err := h.folder.Names()
	if err != nil {
		return nil, err
	}
	all := map[string]*control.Assigned{}
	for _, name := range names {
		if !strings.HasSuffix(name, held.Suffix) || strings.HasPrefix(name, ".") {
			continue
		}
		a, err := h.read(name)
		if err == nil && a.Host != host {
			err = fmt.Errorf("it is of the host %s, and this is %s", a.Host.Short(), host.Short())
		}
		if err != nil {
			return nil, fmt.Errorf("the assignment %s: %w", name, err)
		}
		all[a.Site] = a
	}
	return all, nil
}

func (h assignmentFolder) read(name string) (*control.Assigned, error) {
	data, err := readFile(h.folder, name)
	if err != nil {
		return nil, err
	}
	a := &control.Assigned{Signed: &trust.Signed{}}
	if err := json.Unmarshal(data, a.Signed); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(a.Signed.Content, &a.Assignment); err != nil {
		return nil, err
	}
	return a, a.Check()
}

// remove removes the assignment of a site, if there is one.
func (h assignmentFolder) remove(site string) error {
	if err := h.folder.Remove(held.Name(site)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return h.folder.Sync()
}

// keep makes an assignment durable in the place of the one that its site had.
func (h assignmentFolder) keep(a *control.Assigned) error {
	data, err := json.Marshal(a.Signed)
	if err != nil {
		return err
	}
	return h.folder.Replace(held.Name(a.Site), data)
}
