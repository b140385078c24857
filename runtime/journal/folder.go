// Package journal is the state folder: one directory for each run, with the
// StateRun, its events and its end. The events are log, progress and journal
// in one.
//
//	lock               one apply at a time; names the holder
//	format             the folder's version
//	owed.json          what is owed and unknown, through a run: a Ledger
//	hold               why nothing is to be applied for now
//	withdrawn/         executions that are not to be begun any more
//	managed.json       what is known of managed/ without reading it: a cache
//	managed/           what each site has created on this machine
//	sequence.json      which numbers the events of runs have among all of the folder
//	sensitive.json     which attributes have had sensitive values
//	runs/ID/           ID is a counter and a random part: it sorts by order of
//	                   runs, whatever the clock does
//	  run.json         the StateRun, secrets masked
//	  secrets.json     their values, mode 0600, removed when the run has ended cleanly
//	  results.jsonl    what parts have left for expressions of others, likewise
//	  sources.json     address → file, line, column and source line
//	  events.jsonl     append-only, one states.Event a line
//	  status.json      replaced atomically: running, done, failed, interrupted
//	  output/          what the parts' programs printed, secrets masked
package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is a state folder. Its methods may be used by several processes at
// once; only Start takes the lock.
type Folder struct {
	dir     string
	options Options
	disk    disk
}

// Options are what a Folder is opened with.
type Options struct {
	Program string // the version of the program, for records
	// Volatile says that what is recorded need not outlive a crash of the machine: nothing is
	// made durable.
	Volatile bool
	// Intercept is for tests of recovery: it is called before each operation
	// that changes the disk, by several goroutines at once. An error makes the
	// operation fail, and it has no effect; see also Torn. A process that ends
	// is one whose operations fail from there on, and whose Run is abandoned.
	Intercept func(Op) error
}

// Open opens the state folder, and makes it if there is none. A folder of
// another format is refused.
func Open(dir string) (*Folder, error) { return OpenWith(dir, Options{}) }

// OpenWith is Open with options.
func OpenWith(dir string, o Options) (*Folder, error) {
	d, err := openDisk(dir, o.Intercept)
	d.volatile = o.Volatile
	if err != nil {
		return nil, fmt.Errorf("the state folder cannot be made: %w", err)
	}
	f := &Folder{dir: dir, options: o, disk: d}
	if err := f.disk.mkdir(filepath.Join(dir, "runs")); err != nil {
		return nil, fmt.Errorf("the state folder cannot be made: %w", err)
	}
	if err := f.checkFormat(); err != nil {
		return nil, err
	}
	return f, nil
}

// Dir is the folder's path.
func (f *Folder) Dir() string { return f.dir }

// ErrNoRun is the error for an ID that names no run, or several.
var ErrNoRun = errors.New("no such run")

// find gives the one run whose ID, or that of its execution, is id or starts with it; ""
// is the latest.
func (f *Folder) find(id string) (string, error) {
	ids, err := f.ids()
	if err != nil {
		return "", err
	}
	if id == "" {
		if len(ids) == 0 {
			return "", fmt.Errorf("%w: nothing has been applied yet", ErrNoRun)
		}
		return ids[len(ids)-1], nil
	}
	found := slices.DeleteFunc(ids, func(s string) bool { return !strings.HasPrefix(s, id) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return f.findExecution(id)
	}
	return "", fmt.Errorf("%w: %s begins the IDs of %d runs", ErrNoRun, id, len(found))
}

// findExecution gives the one run of the execution whose ID is id or starts with it, or
// that such a one went on with.
func (f *Folder) findExecution(id string) (string, error) {
	ids, err := f.ids()
	if err != nil {
		return "", err
	}
	var found []string
	for _, run := range slices.Backward(ids) { // the latest, if it was begun anew
		s, err := f.head(run)
		if err != nil {
			continue // what cannot be read is not what is meant
		}
		names := []string{s.Execution}
		for _, r := range s.Resumptions {
			names = append(names, r.Execution)
		}
		if slices.Contains(names, id) {
			return run, nil
		}
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, id) }) {
			found = append(found, run)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("%w: %s", ErrNoRun, id)
	}
	return "", fmt.Errorf("%w: %s begins the IDs of %d executions", ErrNoRun, id, len(found))
}

// ids lists the runs, oldest first.
func (f *Folder) ids() ([]string, error) {
	names, err := f.disk.directories(filepath.Join(f.dir, "runs"))
	if err != nil {
		return nil, fmt.Errorf("the state folder cannot be read: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { _, ok := counter(name); return !ok }), nil
}

func (f *Folder) path(id string, names ...string) string {
	return filepath.Join(append([]string{f.dir, "runs", id}, names...)...)
}

// Outputs lists the files in which a run kept what its parts' programs printed,
// sorted by name; their names are OutputName's.
func (f *Folder) Outputs(id string) ([]string, error) {
	id, err := f.find(id)
	if err != nil {
		return nil, err
	}
	entries, err := f.disk.list(f.path(id, "output"))
	var paths []string
	for _, e := range entries {
		paths = append(paths, f.path(id, "output", e.Name()))
	}
	return paths, err
}
