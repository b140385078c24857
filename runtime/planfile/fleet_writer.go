package planfile

import (
	"fmt"
	"slices"
	"sync"

	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// FleetWriter makes the file of a Fleet, host by host. Its methods may be called from several
// goroutines.
type FleetWriter struct {
	fleet    Fleet
	registry *states.Registry

	mu     sync.Mutex
	files  siteFiles
	jobs   map[string]*fleetEntry // what hosts are to do, by their names
	hosts  []fleetEntry
	data   map[string][]byte // by the names that they are to have
	secret bool
}

// NewFleetWriter begins a file. The fleet's Hosts are added, by Prepare and Add. The registry
// tells which values name files.
func NewFleetWriter(f Fleet, registry *states.Registry) *FleetWriter {
	return &FleetWriter{fleet: f, registry: registry, files: siteFiles{from: f.Files}, jobs: map[string]*fleetEntry{}, data: map[string][]byte{}}
}

// Prepare takes what a host is to do, and where that is declared. Nothing is kept of the run,
// so that those of many hosts need little memory. Of one host, the last one counts.
func (w *FleetWriter) Prepare(h Host, run *states.StateRun, places map[string]journal.Source) error {
	if err := Lossless(run); err != nil {
		return err
	}
	e := &fleetEntry{FleetHost: FleetHost{Host: h, Revision: run.Revision}}
	for _, part := range []struct {
		name *string
		v    any
	}{{&e.Run, run}, {&e.Places, places}, {&e.Secrets, run.Secrets}} {
		if part.name == &e.Secrets && len(run.Secrets) == 0 {
			continue
		}
		name, data, err := dataOf(part.v)
		if err != nil {
			return err
		}
		*part.name = name
		w.put(name, data)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs[h.Name] = e
	w.secret = w.secret || Secret(run)
	return w.files.use(run, w.registry)
}

// Add takes how planning has ended on a host, in the order of the inventory.
func (w *FleetWriter) Add(h FleetHost) error {
	e := fleetEntry{}
	w.mu.Lock()
	if job := w.jobs[h.Name]; job != nil {
		e = *job
		h.Host, h.Revision = job.Host, job.Revision
	}
	w.mu.Unlock()
	e.FleetHost = h
	name, data, err := dataOf(Rows(h.Rows))
	if err != nil {
		return err
	}
	e.Rows = name
	w.put(name, data)
	if !h.Outputs.isEmpty() {
		if e.Given, data, err = dataOf(h.Outputs); err != nil {
			return err
		}
		w.put(e.Given, data)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secret = w.secret || h.Outputs.isSecret()
	w.hosts = append(w.hosts, e)
	return nil
}

// IsSecret reports whether anything is to be hidden: then Bytes needs keys.
func (w *FleetWriter) IsSecret() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.secret
}

// Bytes gives the file, encrypted where there are keys; see Plan.Bytes.
func (w *FleetWriter) Bytes(keys []*secrets.File) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.secret && len(keys) == 0 {
		return nil, fmt.Errorf("the plan holds secrets, and nobody is named who may read it")
	}
	f := &w.fleet
	archive, err := NewArchive(FleetFormat, f.Program, f.Created, planManifest{})
	if err != nil {
		return nil, err
	}
	if err := w.addHosts(archive); err != nil {
		return nil, err
	}
	if err := w.files.add(archive, f.Modules); err != nil {
		return nil, err
	}
	data, err := archive.Bytes()
	if err != nil || len(keys) == 0 {
		return data, err
	}
	return seal(FleetFormat, f.Program, f.Created, data, keys)
}

// addHosts adds the index, and the data that it names.
func (w *FleetWriter) addHosts(to *ArchiveWriter) error {
	f := &w.fleet
	index, err := encode(fleetIndex{Site: f.Site, Origin: f.Origin, Rollout: f.Rollout, Modules: f.Modules, Hosts: w.hosts})
	if err == nil && len(index) > maxJSON {
		err = errTooLarge
	}
	if err == nil {
		err = to.Add(fleetName, index)
	}
	var names []string
	for i := range w.hosts {
		e := &w.hosts[i]
		names = append(names, e.Run, e.Rows, e.Places, e.Secrets, e.Given)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != "" && err == nil {
			err = to.Add(name, w.data[name])
		}
	}
	return err
}

func (w *FleetWriter) put(name string, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.data[name] = data
}

// dataOf encodes something, and names it so that what is the same has the same name.
func dataOf(v any) (name string, data []byte, err error) {
	if data, err = encode(v); err == nil && len(data) > maxJSON {
		err = errTooLarge
	}
	return fmt.Sprintf("%s/%s.json", dataDir, digestOf(data)), data, err
}
