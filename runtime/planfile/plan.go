// Package planfile keeps a plan in a file: the StateRun, what the plan said, and
// what an apply needs besides, so that it needs no site any more. Who applies
// such a file plans again from its StateRun, and does exactly what was planned or
// nothing.
//
// A plan with secrets is encrypted for those who may read the site's secrets: an
// Archive in age files in an Archive. What a plan file says was made by whoever
// wrote it: it must be trusted like a site.
package planfile

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Format is the version of plan files.
const Format = "tenet.plan/1"

// Names in the archive.
const (
	runName     = "run.json"
	rowsName    = "rows.json"
	placesName  = "places.json"
	secretsName = "secrets.json"
	sealedName  = "sealed.age"
	keyPrefix   = "keys/"
	filesDir    = "files"
	treesDir    = "trees"
)

// maxJSON bounds each of the JSON files.
const maxJSON = 256 << 20

// Plan is a saved plan.
type Plan struct {
	Program string // the version that made it
	Created time.Time
	Host    Host
	Origin  string // where the site lies, an absolute path
	Run     *states.StateRun
	Places  map[string]journal.Source // of declarations, by address
	Rows    []states.Event            // what the plan said, as Rows gives it
	Counts  states.Counts             // their sum

	// Files opens the files that parts name as sources, and the custom modules.
	Files fs.FS
	// Modules are the directories of Files that have custom modules below, each
	// as custom.Load wants it; "." is the site's own.
	Modules []machine.Modules
	// Encrypted says that the plan was read from an encrypted file.
	Encrypted bool
	// Failed says that something would fail, so that the plan can be looked at, and not be
	// carried out.
	Failed bool
}

// planManifest is what the manifest says of a plan.
type planManifest struct {
	Sealed  []string          `json:"sealed,omitempty"` // for the readers of these files, one within the other
	Host    *Host             `json:"host,omitempty"`
	Origin  string            `json:"origin,omitempty"`
	Modules []machine.Modules `json:"modules,omitempty"`
	Counts  *states.Counts    `json:"counts,omitempty"`
	Failed  bool              `json:"failed,omitempty"`
}

// Secret reports whether a run holds what must not stand in a file that everybody
// may read.
func Secret(run *states.StateRun) bool {
	if len(run.Secrets)+len(run.SecretFiles) > 0 {
		return true
	}
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			if secretGuards(list[i].Guards) || slices.ContainsFunc(list[i].Parts, secretPart) {
				return true
			}
		}
	}
	return false
}

func secretPart(p states.Part) bool {
	for _, name := range p.Sensitive {
		if p.Values[name] != nil || p.Results[name] != nil {
			return true
		}
	}
	return secretResults(p.Results) || secretGuards(p.Guards)
}

func secretGuards(list []states.Guard) bool {
	return slices.ContainsFunc(list, func(g states.Guard) bool { return secretResults(g.Results) })
}

func secretResults(results map[string]*states.Expr) bool {
	for _, x := range results {
		if len(x.Secrets()) > 0 {
			return true
		}
	}
	return false
}

// Bytes gives the file. The registry tells which values name files. With keys
// the plan is encrypted so that only who may read all of these files of secrets
// can open it; a plan with secrets and without keys is an error.
func (p *Plan) Bytes(registry *states.Registry, keys []*secrets.File) ([]byte, error) {
	if Secret(p.Run) && len(keys) == 0 {
		return nil, fmt.Errorf("the plan holds secrets, and nobody is named who may read it")
	}
	w, err := NewArchive(Format, p.Program, p.Created, planManifest{
		Host: &p.Host, Origin: p.Origin, Modules: p.Modules, Counts: &p.Counts, Failed: p.Failed,
	})
	if err != nil {
		return nil, err
	}
	if err := p.addJSON(w); err != nil {
		return nil, err
	}
	if err := p.addFiles(w, registry); err != nil {
		return nil, err
	}
	data, err := w.Bytes()
	if err != nil || len(keys) == 0 {
		return data, err
	}
	return seal(Format, p.Program, p.Created, data, keys)
}

func (p *Plan) addJSON(w *ArchiveWriter) error {
	if err := Lossless(p.Run); err != nil {
		return err
	}
	for _, e := range []struct {
		name string
		v    any
	}{{runName, p.Run}, {rowsName, Rows(p.Rows)}, {placesName, p.Places}, {secretsName, p.Run.Secrets}} {
		if e.name == secretsName && len(p.Run.Secrets) == 0 {
			continue
		}
		data, err := encode(e.v)
		if err == nil && len(data) > maxJSON {
			err = errTooLarge
		}
		if err == nil {
			err = w.Add(e.name, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addFiles adds the files that parts name, and the custom modules.
func (p *Plan) addFiles(w *ArchiveWriter, registry *states.Registry) error {
	files := siteFiles{from: p.Files}
	if err := files.use(p.Run, registry); err != nil {
		return err
	}
	return files.add(w, p.Modules)
}

// Site names the site in records.
func (p *Plan) Site() string { return journal.Identity(p.Run.Site, p.Origin) }

// Host tells on which machine, and in which tree of it, a plan was made.
type Host struct {
	Name     string `json:"name"`                 // of the site's host, or "localhost"
	Hostname string `json:"hostname"`             // of the machine
	Machine  string `json:"machine_id,omitempty"` // of /etc/machine-id; empty: unknown
	Root     string `json:"root,omitempty"`       // of a tree below a directory; empty: the machine's own
}

// Differs says in what another host differs from the one of the plan; empty: it
// is the same.
func (h Host) Differs(now Host) string {
	var list []string
	add := func(what, planned, is string) {
		if planned != is {
			list = append(list, fmt.Sprintf("the plan is for %s %s, this is %s", what, orNone(planned), orNone(is)))
		}
	}
	add("the host", h.Hostname, now.Hostname)
	if h.Machine != "" {
		add("the machine-id", h.Machine, now.Machine)
	}
	add("the root", strings.TrimSuffix(h.Root, "/"), strings.TrimSuffix(now.Root, "/"))
	return strings.Join(list, "; ")
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
