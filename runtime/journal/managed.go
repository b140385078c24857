package journal

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// ManagedFormat is the version of managed.json, and of the files in managed/ in which
// nothing is to be retained.
const ManagedFormat = "tenet.managed/1"

// RetainedFormat is the version of a file in managed/ that says what is to be retained:
// a program that does not know of that must not write it anew.
const RetainedFormat = "tenet.managed/2"

// ClusterFormat is the version of a file in managed/ that says what goes with a cluster, likewise.
const ClusterFormat = "tenet.managed/3"

// Managed is what all sites have created on this host, as far as it is needed:
// what a site holds is read when somebody asks for it. In a run it takes that run's
// events. It is not for several goroutines at once.
type Managed struct {
	folder *Folder
	index  managedIndex
	read   map[string]*Holding // by site
	site   string              // of the run; empty: it manages nothing
	run    string              // empty: nothing is added
	err    error
}

// managedIndex is managed.json: what can be told of the sites without reading what
// they hold. It is a cache: without it all kept runs are added anew, which changes
// nothing.
type managedIndex struct {
	Format  string                  `json:"format"`
	Through string                  `json:"through"` // the last run whose events are in it
	Sites   map[string]managedState `json:"sites"`
}

type managedState struct {
	// Last is the site's last run, and Size that of its events: they are more if
	// it has gone on.
	Last string `json:"last"`
	Size int64  `json:"size"`
	// Changed is the run that changed last what the site holds.
	Changed string `json:"changed,omitempty"`
	// Checked is the revision that declares all that the site holds, and claims
	// all that others hold and it declares, others being as Others says.
	Checked string `json:"checked,omitempty"`
	Others  string `json:"others,omitempty"`
}

// managedHeader is the first line of a file in managed/; a Created a line follows.
type managedHeader struct {
	Format string `json:"format"`
	Site   string `json:"site"`
}

// Managed reads what the sites have created: the records, and the events of runs
// that are not in them yet, a run in progress included. It changes nothing.
func (f *Folder) Managed() (*Managed, error) {
	for {
		m, through, err := f.readManaged()
		if err != nil {
			return nil, err
		}
		// A run that has ended meanwhile may have cleaned others away.
		now := &Managed{folder: f}
		if err := now.readIndex(); err != nil || now.index.Through == through {
			return m, err
		}
	}
}

func (f *Folder) readManaged() (m *Managed, through string, err error) {
	m = &Managed{folder: f, read: map[string]*Holding{}}
	if err := m.readIndex(); err != nil {
		return nil, "", err
	}
	through = m.index.Through
	ids, err := f.ids()
	if err != nil {
		return nil, "", err
	}
	lacks := m.lacks()
	for _, id := range ids {
		if lacks(id) {
			if err := m.replay(id); err != nil {
				return nil, "", err
			}
			m.index.Through = max(m.index.Through, id)
		}
	}
	return m, through, m.err
}

// lacks tells of runs whether the records do not hold all of their events.
func (m *Managed) lacks() func(id string) bool {
	grown, through := map[string]bool{}, m.index.Through
	for _, s := range m.index.Sites {
		grown[s.Last] = s.Size != m.folder.eventsSize(s.Last)
	}
	return func(id string) bool { return id > through || grown[id] }
}

// eventsSize is the size of a run's events; 0 where there are none.
func (f *Folder) eventsSize(id string) int64 {
	info, err := os.Stat(f.path(id, "events.jsonl"))
	if err != nil {
		return 0
	}
	return info.Size()
}

func (m *Managed) readIndex() error {
	m.index = managedIndex{Format: ManagedFormat}
	data, err := m.folder.disk.readFile(filepath.Join(m.folder.dir, "managed.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("what sites have created cannot be read: %w", err)
	}
	var index managedIndex
	if unseal(data, &index) == nil && index.Format != "" { // else it is torn, or was never written
		if err := knownManaged(index.Format, ManagedFormat); err != nil {
			return err
		}
		m.index = index
	}
	if m.index.Sites == nil {
		m.index.Sites = map[string]managedState{}
	}
	return nil
}

// ErrNewer is wrapped by the error for records of a version that is newer than this
// program.
var ErrNewer = errors.New("use the version of tenet that wrote it")

func knownManaged(format string, known ...string) error {
	if !slices.Contains(known, format) {
		return fmt.Errorf("what sites have created is recorded in the format %q, and this program knows %q: %w", format, known[len(known)-1], ErrNewer)
	}
	return nil
}

// replay adds the events of a former run. Those behind a damaged one are lost: what
// it has created from there on stays, and is nobody's.
func (m *Managed) replay(id string) error {
	var h *Holding
	size := m.folder.eventsSize(id)
	for ev, err := range m.folder.Events(id) {
		if errors.Is(err, fs.ErrNotExist) || damage(err) != nil {
			break // the Ledger tells of it
		}
		if err != nil {
			return fmt.Errorf("the events of run %s cannot be read: %w", id, err)
		}
		if h == nil {
			if ev.Site == "" {
				return nil
			}
			if h = m.Holding(ev.Site); h == nil {
				return m.err
			}
		}
		h.Add(id, &ev)
	}
	if h == nil {
		return nil
	}
	h.End(id)
	s := m.index.Sites[h.Site]
	s.Last, s.Size, s.Checked = id, size, ""
	m.index.Sites[h.Site] = s
	return nil
}

// Sites lists the sites that hold something here, sorted.
func (m *Managed) Sites() []string {
	return slices.Sorted(maps.Keys(m.index.Sites))
}

// Err tells why what a site holds could not be read.
func (m *Managed) Err() error { return m.err }

// Holding gives what a site holds; nil with Err if it cannot be read.
func (m *Managed) Holding(site string) *Holding {
	if h := m.read[site]; h != nil {
		return h
	}
	h, err := m.folder.readHolding(site)
	if err != nil {
		m.err = Join(m.err, err)
		return nil
	}
	m.read[site] = h
	return h
}

// Others gives what all other sites hold.
func (m *Managed) Others(site string) []*Holding {
	var list []*Holding
	for _, other := range m.Sites() {
		if other == site {
			continue
		}
		if h := m.Holding(other); h != nil {
			list = append(list, h)
		}
	}
	return list
}

// Settled reports whether it is known, without reading anything, that a revision of
// the run's site declares all that the site holds, and that its claims are right.
func (m *Managed) Settled(site, revision string) bool {
	s := m.index.Sites[site]
	h := m.read[site]
	return s.Checked != "" && s.Checked == revision && s.Others == m.others(site) && (h == nil || !h.changed)
}

// Settle notes that it is so.
func (m *Managed) Settle(site, revision string) {
	s := m.index.Sites[site]
	s.Checked, s.Others = revision, m.others(site)
	m.index.Sites[site] = s
}

// Unsettle notes that it is not.
func (m *Managed) Unsettle(site string) {
	s := m.index.Sites[site]
	s.Checked, s.Others = "", ""
	m.index.Sites[site] = s
}

// others changes with what the other sites hold.
func (m *Managed) others(site string) string {
	digest := sha256.New()
	for _, other := range m.Sites() {
		if other != site && m.index.Sites[other].Changed != "" {
			fmt.Fprintf(digest, "%q %s\n", other, m.index.Sites[other].Changed)
		}
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

// Add takes an event of the run, for what its site holds. Where that was settled
// and has not been read, events that say nothing new cost nothing: all that is held
// is declared, and of what is there there is nothing to be noted.
func (m *Managed) Add(ev *states.Event) {
	if m == nil || m.site == "" || m.run == "" {
		return
	}
	if m.read[m.site] == nil && m.index.Sites[m.site].Checked != "" {
		begins := ev.Type == states.EventBegin && (ev.Resource != nil || manifestOf(ev) != "")
		removed := ev.Type == states.EventPart && ev.Ensure == states.Absent && ev.Outcome == states.Changed
		if !begins && !removed && ev.Type != states.EventForgotten && ev.Type != states.EventRestored && ev.Type != states.EventWanted {
			return
		}
	}
	if h := m.Holding(m.site); h != nil {
		h.Add(m.run, ev)
	}
}

// write records it: what sites hold durably, where it has changed. The run's events
// must have been written.
func (m *Managed) write() error {
	if m.err != nil {
		return m.err
	}
	changed := false
	for site, h := range m.read {
		if !h.changed {
			continue
		}
		changed = true
		if err := m.folder.writeHolding(h); err != nil {
			return err
		}
		s := m.index.Sites[site]
		s.Changed = cmp.Or(m.run, m.index.Through)
		m.index.Sites[site] = s
	}
	m.index.Through = max(m.index.Through, m.run)
	if m.site != "" {
		s := m.index.Sites[m.site]
		s.Last, s.Size = m.run, m.folder.eventsSize(m.run)
		m.index.Sites[m.site] = s
	}
	data, err := seal(m.index)
	if err != nil {
		return err
	}
	err = m.folder.disk.replace(filepath.Join(m.folder.dir, "managed.json"), data, false)
	if err == nil && changed {
		err = m.sweepManifests()
	}
	return err
}

// Managed gives what sites have created here, before the events that follow: those
// it takes as they are appended.
func (r *Run) Managed() (*Managed, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readManaged()
}

func (r *Run) readManaged() (*Managed, error) {
	if r.managed != nil {
		return r.managed, nil
	}
	if r.failed == nil { // of a run that goes on, all that was before
		r.failed = r.out.Flush()
	}
	m, err := r.folder.Managed()
	if err == nil {
		m.site, m.run = r.status.Site, r.ID()
		r.managed = m
	}
	return m, err
}

// recordManaged writes down what sites have created, by all runs that there are. The
// lock is held.
func (f *Folder) recordManaged() error {
	m, err := f.Managed()
	if err != nil {
		return err
	}
	return m.write()
}

// leaveManaged writes down what sites have created until now.
func (r *Run) leaveManaged() error {
	m, err := r.readManaged()
	if err != nil {
		return err
	}
	if h := m.read[m.site]; h != nil {
		h.End(m.run)
	}
	return m.write()
}
