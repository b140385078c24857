package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/states"
)

// What a run must not lose while somebody may go on with it, and what nobody else
// is to see: the values that run.json masks, and what parts have left for
// expressions of others. Mode 0600, and removed when the run has ended; if it failed,
// only where something in it is secret.
const (
	secretsFile = "secrets.json"
	resultsFile = "results.jsonl"
)

// private is secrets.json.
type private struct {
	Values  map[string]map[string]any          `json:"values,omitempty"`  // of parts, by address
	Results map[string]map[string]*states.Expr `json:"results,omitempty"` // of the same
	Texts   []string                           `json:"texts,omitempty"`   // StateRun.Secrets
	Given   []states.HostOutput                `json:"given,omitempty"`   // StateRun.Given
}

// privateOf gives what run.json does not hold of a run; nil: it holds all.
func privateOf(run *states.StateRun) *private {
	p := private{Values: map[string]map[string]any{}, Results: map[string]map[string]*states.Expr{}, Texts: run.Secrets, Given: run.Given}
	eachPart(run, func(part *states.Part) {
		for _, name := range part.Sensitive {
			if v, ok := part.Values[name]; ok {
				if p.Values[part.Address] == nil {
					p.Values[part.Address] = map[string]any{}
				}
				p.Values[part.Address][name] = v
			}
		}
		if len(part.Sensitive) > 0 && len(part.Results) > 0 { // see maskInvocation
			p.Results[part.Address] = part.Results
		}
	})
	if len(p.Values)+len(p.Results)+len(p.Texts)+len(p.Given) == 0 {
		return nil
	}
	return &p
}

// restore puts it back.
func (p *private) restore(run *states.StateRun) error {
	var missing error
	eachPart(run, func(part *states.Part) {
		for _, name := range part.Sensitive {
			if part.Values[name] != Masked {
				continue
			}
			v, ok := p.Values[part.Address][name]
			if !ok {
				missing = fmt.Errorf("the sensitive value of %s.%s is not recorded", part.Address, name)
				return
			}
			part.Values[name] = v
		}
		if results := p.Results[part.Address]; results != nil {
			part.Results = results
		}
	})
	run.Secrets, run.Given = p.Texts, p.Given
	return missing
}

func eachPart(run *states.StateRun, do func(*states.Part)) {
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			for k := range list[i].Parts {
				do(&list[i].Parts[k])
			}
		}
	}
}

// Result is what a part has left for expressions of others.
type Result struct {
	Address   string         `json:"address"`
	Values    map[string]any `json:"values,omitempty"`
	Sensitive []string       `json:"sensitive,omitempty"` // of these
	None      string         `json:"none,omitempty"`      // why there is nothing
}

// Result keeps what a part has left, until the run has ended. It outlives this
// process when the part's end does.
func (r *Run) Result(result Result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	if r.results == nil {
		if r.results, r.failed = r.folder.disk.open(r.folder.path(r.ID(), resultsFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND); r.failed != nil {
			return r.failed
		}
	}
	line, err := seal(result)
	if err == nil {
		_, err = r.results.Write(line)
	}
	r.secret = r.secret || len(result.Sensitive) > 0
	r.failed = err
	return err
}

// isSecret reports whether a secret is among what is private.
func (r *Run) isSecret() bool {
	_, err := os.Lstat(r.folder.path(r.ID(), secretsFile))
	return r.secret || !errors.Is(err, fs.ErrNotExist)
}

// readResults reads what a run's parts have left. A torn last line belongs to a
// part whose end is not recorded.
func (d disk) readResults(path string) (map[string]Result, error) {
	file, err := d.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	results, lines, in := map[string]Result{}, sealedLines{}, bufio.NewReader(file)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && isTorn(line) {
			return results, nil
		}
		var result Result
		if err == nil || err == io.EOF {
			err = lines.check(line)
		}
		if err == nil {
			decoder := json.NewDecoder(bytes.NewReader(line))
			decoder.UseNumber()
			err = decoder.Decode(&result)
		}
		if err != nil {
			return nil, fmt.Errorf("%s is damaged: %w", resultsFile, err)
		}
		results[result.Address] = result
	}
}

// isOver reports whether nobody is to go on with the run after that end.
func (r *Run) isOver(e *End) bool {
	switch e.State {
	case Done:
		return true
	case Failed:
		return r.isSecret()
	}
	var withdrawn *WithdrawnError // which says nothing of a run that was begun earlier
	return r.resumed == nil && errors.As(e.Err, &withdrawn)
}

// forget removes what is private in those of former runs with which nobody can go on: of
// the site, since this one is later, and of nobody knows which. In the run's own record
// it does so if that is wanted.
func (r *Run) forget(own bool) error {
	ids, err := r.folder.ids()
	if err != nil {
		return err
	}
	var errs []error
	if own {
		errs = append(errs, r.folder.forget(r.ID(), &r.status))
	}
	for _, id := range ids {
		if id >= r.ID() {
			break
		}
		if !r.folder.isPrivate(id) && !r.folder.hasOutputs(id) {
			continue
		}
		s, unread := r.folder.whole(id)
		if unread != nil && !isLost(unread) { // it may still be gone on with
			errs = append(errs, fmt.Errorf("the status of run %s cannot be read, and its secrets are kept: %w", id, unread))
			continue
		}
		if unread == nil && s.Revision != "" && Identity(s.Site, s.Origin) != Identity(r.status.Site, r.status.Origin) {
			continue
		}
		errs = append(errs, r.folder.disk.remove(r.folder.path(id, outputsFile)))
		err := r.folder.forget(id, &s)
		if err == nil && unread == nil && s.Run == id {
			// Nobody looks into the folder of a run that has ended for what a dead process has left there.
			err = r.folder.writeStatus(&s, filepath.Join(r.folder.dir, "runs"))
		}
		errs = append(errs, err)
	}
	return Join(errs...)
}

// isLost reports whether what could not be read of the records is gone or damaged. What the
// system has refused to read, as with too many open files, may be read the next time.
func isLost(err error) bool {
	_, refused := errors.AsType[*fs.PathError](err)
	return !refused || errors.Is(err, fs.ErrNotExist)
}

// forget removes what is private in a run's record, and notes that in its status.
func (f *Folder) forget(id string, s *Status) error {
	if !f.isPrivate(id) {
		return nil
	}
	s.Forgotten = true
	return Join(f.disk.remove(f.path(id, secretsFile)), f.disk.remove(f.path(id, resultsFile)))
}

// isPrivate reports whether something in a run's record is private.
func (f *Folder) isPrivate(id string) bool {
	for _, name := range []string{secretsFile, resultsFile} {
		if _, err := os.Lstat(f.path(id, name)); err == nil {
			return true
		}
	}
	return false
}
