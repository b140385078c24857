package planfile

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// FleetFormat is the version of the files that hold the plans of several hosts.
const FleetFormat = "tenet.plans/1"

// Names in the archive.
const (
	fleetName = "fleet.json"
	dataDir   = "data" // what hosts have in common is there once, named by its digest
)

// done is the status of a host whose plan can be carried out.
const done = "done"

// Fleet is a saved plan of several hosts. It says nothing about how they are reached: who
// carries it out knows that, and compares what a host says of itself with Host.
type Fleet struct {
	Program string // the version that made it
	Created time.Time
	Site    string // its name; empty: it has none
	Origin  string // where it lies, as hosts are told
	// Rollout is the site's at the time of the plan; nil: all hosts at once.
	Rollout *site.Rollout
	Hosts   []FleetHost // in the order of the inventory

	// Files opens the files that parts name as sources, and the custom modules, which all
	// hosts have in common.
	Files fs.FS
	// Modules are as in Plan.
	Modules []machine.Modules
	// Encrypted says that the plan was read from an encrypted file.
	Encrypted bool

	archive *Archive
	entries []fleetEntry
}

// FleetHost is what was planned on one host.
type FleetHost struct {
	Host
	// Status is how planning has ended there, as package fleet says it.
	Status string `json:"status"`
	// Problem is why there is no plan, or not all of one; nil: its rows tell.
	Problem  *states.Failure `json:"problem,omitempty"`
	Counts   states.Counts   `json:"counts"`
	Revision string          `json:"revision,omitempty"` // of the run; empty: there is none
	Rows     []states.Event  `json:"-"`                  // what the plan said, as Rows gives it
	// Handlers are the addresses of the run's invocations of handlers.
	Handlers []string `json:"-"`
	// Outputs are what the plan took of other hosts, and what it says that this one gives.
	Outputs FleetOutputs `json:"-"`
}

// FleetOutputs are the outputs that the plan of a host has to do with.
type FleetOutputs struct {
	Given []states.HostOutput      `json:"given,omitempty"` // by others
	Gives map[string]states.Output `json:"gives,omitempty"` // by name
}

func (o *FleetOutputs) isEmpty() bool { return len(o.Given)+len(o.Gives) == 0 }

// isSecret reports whether what is known of them must not stand in a file that everybody may read.
func (o *FleetOutputs) isSecret() bool {
	for i := range o.Given {
		if o.Given[i].Output.Sensitive && o.Given[i].Output.IsKnown {
			return true
		}
	}
	for _, out := range o.Gives {
		if out.Sensitive && out.IsKnown {
			return true
		}
	}
	return false
}

// fleetEntry is a host as the archive has it. The names are those of files in it.
type fleetEntry struct {
	FleetHost
	Run     string `json:"run,omitempty"` // empty: nothing is to be done there
	Rows    string `json:"rows,omitempty"`
	Places  string `json:"places,omitempty"`
	Secrets string `json:"secrets,omitempty"`
	Given   string `json:"outputs,omitempty"`
}

// fleetIndex is the file that says what all the others are.
type fleetIndex struct {
	Site    string            `json:"site,omitempty"`
	Origin  string            `json:"origin"`
	Rollout *site.Rollout     `json:"rollout,omitempty"`
	Modules []machine.Modules `json:"modules,omitempty"`
	Hosts   []fleetEntry      `json:"hosts"`
}

// Identity names the site in records.
func (f *Fleet) Identity() string { return journal.Identity(f.Site, f.Origin) }

// HasFailed reports whether the plan of a host cannot be carried out.
func (h *FleetHost) HasFailed() bool { return h.Status != done }

// Read reads a plan file of one host, or else of several; see Open.
func Read(data []byte, identities func() ([]secrets.Identity, error)) (*Plan, *Fleet, error) {
	plan, err := Open(data, identities)
	if other, ok := err.(*FormatError); ok && other.Format == FleetFormat {
		fleet, err := OpenFleet(data, identities)
		return nil, fleet, err
	}
	return plan, nil, err
}

// OpenFleet reads a plan of several hosts. All of it is looked through before anything can be
// used; errors are those of Open.
func OpenFleet(data []byte, identities func() ([]secrets.Identity, error)) (*Fleet, error) {
	a, _, encrypted, err := openSealed(data, FleetFormat, identities)
	if err != nil {
		return nil, err
	}
	var index fleetIndex
	if err := a.JSON(fleetName, maxJSON, &index); err != nil {
		return nil, err
	}
	f := &Fleet{Program: a.Program, Created: a.Created, Site: index.Site, Origin: index.Origin, Rollout: index.Rollout,
		Modules: index.Modules, Encrypted: encrypted, archive: a, entries: index.Hosts}
	used, err := f.readHosts()
	if err != nil {
		return nil, err
	}
	f.Files, err = filesIn(a, f.Modules, func(name string) bool { return name == fleetName || used[name] })
	if err != nil {
		return nil, err
	}
	return f, nil
}

// readHosts looks through what is planned on the hosts, and gives the names of the files that
// it is in.
func (f *Fleet) readHosts() (used map[string]bool, err error) {
	if len(f.entries) == 0 {
		return nil, damaged("it names no host")
	}
	used, names, rows := map[string]bool{}, map[string]bool{}, map[string][]states.Event{}
	for i := range f.entries {
		e := &f.entries[i]
		switch {
		case !isHostName(e.Name) || names[e.Name]:
			return nil, damaged("the host %q stands there twice, or cannot be", e.Name)
		case e.Root != "":
			return nil, damaged("the host %s is a tree of another one", e.Name)
		}
		names[e.Name] = true
		for _, name := range []string{e.Run, e.Rows, e.Places, e.Secrets, e.Given} {
			if name != "" && !strings.HasPrefix(name, dataDir+"/") {
				return nil, damaged("%s does not belong there", name)
			}
			used[name] = true
		}
		if e.Rows != "" && rows[e.Rows] == nil {
			list := []states.Event{}
			if err := f.archive.JSON(e.Rows, maxJSON, &list); err != nil {
				return nil, err
			}
			rows[e.Rows] = list
		}
		e.FleetHost.Rows = rows[e.Rows]
		if e.Given != "" {
			if err := f.archive.JSON(e.Given, maxJSON, &e.Outputs); err != nil {
				return nil, err
			}
		}
		if err := f.check(i); err != nil {
			return nil, err
		}
		f.Hosts = append(f.Hosts, e.FleetHost)
	}
	return used, nil
}

// check looks through the plan of one host.
func (f *Fleet) check(i int) error {
	e := &f.entries[i]
	if e.Run == "" {
		e.Revision = ""
		return nil
	}
	p, err := f.Plan(i)
	if err != nil {
		return err
	}
	if p.Run.Host != e.Name {
		return damaged("what %s is to do is for %q", e.Name, p.Run.Host)
	}
	e.Revision = p.Run.Revision
	for k := range p.Run.Invocations {
		if inv := &p.Run.Invocations[k]; inv.Handler {
			e.Handlers = append(e.Handlers, inv.Address)
		}
	}
	return nil
}

// Plan gives the plan of a host, by its index in Hosts: nil where nothing is to be done. It
// is read anew each time: those of all hosts together may be large.
func (f *Fleet) Plan(i int) (*Plan, error) {
	e := &f.entries[i]
	if e.Run == "" {
		return nil, nil
	}
	p := &Plan{Program: f.Program, Created: f.Created, Host: e.Host, Origin: f.Origin, Rows: e.FleetHost.Rows, Counts: e.Counts,
		Files: f.Files, Modules: f.Modules, Encrypted: f.Encrypted, Failed: e.HasFailed(), Run: &states.StateRun{}}
	if err := f.archive.JSON(e.Run, maxJSON, p.Run); err != nil {
		return nil, err
	}
	if p.Run.Format != states.Format {
		return nil, &FormatError{Format: p.Run.Format, Known: states.Format, Program: f.Program}
	}
	if p.Run.Site != f.Site {
		return nil, damaged("what %s is to do is of the site %q, and the others are of %q", e.Name, p.Run.Site, f.Site)
	}
	if p.Rows == nil { // no rows were consented to, and not just any
		return nil, damaged("it does not say what was shown of %s", e.Name)
	}
	if err := f.archive.JSON(e.Places, maxJSON, &p.Places); err != nil {
		return nil, err
	}
	if e.Secrets != "" {
		if err := f.archive.JSON(e.Secrets, maxJSON, &p.Run.Secrets); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Revision is the same for what would do the same on the same hosts.
func (f *Fleet) Revision() string {
	var text strings.Builder
	for i := range f.Hosts {
		fmt.Fprintf(&text, "%q %s\n", f.Hosts[i].Name, f.Hosts[i].Revision)
	}
	return digestPrefix + digestOf([]byte(text.String()))
}

// Index gives the place of a host in Hosts; -1: it is not there.
func (f *Fleet) Index(name string) int {
	return slices.IndexFunc(f.Hosts, func(h FleetHost) bool { return h.Name == name })
}

// isHostName reports whether something can be the name of a host: it is shown, and selected by.
func isHostName(name string) bool {
	return name != "" && len(name) <= 1000 && utf8.ValidString(name) && !strings.ContainsFunc(name, diag.Unsafe)
}
