package margo

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// wanted gives what is to be on the host, from the documents that are kept.
func (d *Device) wanted() (out []Wanted, err error) {
	for _, id := range slices.Sorted(maps.Keys(d.state.Deployments)) {
		w := d.state.Deployments[id]
		one := Wanted{ID: id, Revision: w.Present}
		switch {
		case w.Absent:
			one.Remove = slices.Clone(w.Host)
		case w.Present == "": // it is refused, and never was there
			continue
		default:
			if one.Document, err = d.document(id, w.Present); err != nil {
				return nil, err
			}
			for _, name := range w.Host {
				if !slices.ContainsFunc(one.Document.Components, func(c rc2.Component) bool { return c.Name == name }) {
					one.Remove = append(one.Remove, name)
				}
			}
		}
		out = append(out, one)
	}
	return out, nil
}

func (d *Device) document(id string, digest rc2.Digest) (*rc2.Deployment, error) {
	data, err := d.folder.read(digest)
	if err == nil && data == nil {
		err = &diag.HintError{
			Message: fmt.Sprintf("the document %s of the deployment %s is kept no more, or is damaged", digest, id),
			Hint:    "restore the folder " + string(d.folder),
		}
	}
	if err != nil {
		return nil, err
	}
	one, err := rc2.ReadDeployment(data)
	return &one, err
}
