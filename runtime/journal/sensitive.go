package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// SensitiveFormat is the version of sensitive.json.
const SensitiveFormat = "tenet.sensitive/1"

// sensitiveFile says which attributes on this machine have had sensitive values. The
// values are not in it.
const sensitiveFile = "sensitive.json"

// SensitiveAttribute is an attribute of a resource whose value on the machine is a
// secret, as far as runs have told: what a later run finds there it must not show, even
// if what it wants there may be shown.
type SensitiveAttribute struct {
	Type      string `json:"type"`
	Key       string `json:"key"`
	Attribute string `json:"attribute"`
	Path      string `json:"path,omitempty"` // the file that it is in; empty: none is known
}

// SensitiveAttributes are those that runs of all sites have recorded.
type SensitiveAttributes map[SensitiveAttribute]bool

// Hides reports whether what is there now in an attribute of a part may be a secret: one
// of its own, or one that another part has put into the same file.
func (s SensitiveAttributes) Hides(p *states.Part, attribute string) bool {
	path, account := pathOf(p), attribute == "owner" || attribute == "group"
	for a := range s {
		own := a.Type == p.Type && a.Key == p.Key
		if own && a.Attribute == attribute || !own && path != "" && a.Path == path && !account {
			return true
		}
	}
	return false
}

// pathOf is the file that a part is about; empty: none.
func pathOf(p *states.Part) string {
	path, _ := p.Values["path"].(string)
	return path
}

// add takes note of what is sensitive in a run.
func (s SensitiveAttributes) add(run *states.StateRun) {
	eachPart(run, func(p *states.Part) {
		names := p.Sensitive
		if p.Options.Sensitive {
			names = slices.Collect(maps.Keys(p.Values))
		}
		for _, name := range names {
			s[SensitiveAttribute{p.Type, p.Key, name, pathOf(p)}] = true
		}
	})
}

// settle takes note that a part has ended as it wanted to: what it has written in place
// of a secret may be shown. A part that writes a whole file leaves nothing of what other
// parts have put there.
func (s SensitiveAttributes) settle(p *states.Part) {
	_, content := p.Values["content"]
	_, source := p.Values["source"]
	whole := (content || source || p.Ensure == states.Absent) && len(p.Sensitive) == 0 && pathOf(p) != ""
	maps.DeleteFunc(s, func(a SensitiveAttribute, _ bool) bool {
		own := a.Type == p.Type && a.Key == p.Key && !slices.Contains(p.Sensitive, a.Attribute)
		return !p.Options.Sensitive && (own || whole && a.Path == pathOf(p))
	})
}

// Sensitive gives the attributes that runs have recorded as sensitive.
func (f *Folder) Sensitive() (SensitiveAttributes, error) {
	var record struct {
		Format     string               `json:"format"`
		Attributes []SensitiveAttribute `json:"attributes"`
	}
	path := filepath.Join(f.dir, sensitiveFile)
	data, err := f.disk.readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(bytes.Trim(data, "\x00")) == 0: // as a loss of power can leave it
		return f.sensitiveInRuns()
	case err == nil:
		err = unseal(data, &record)
	}
	if err == nil && record.Format != SensitiveFormat {
		err = fmt.Errorf("it has the format %q, and this program knows %q", record.Format, SensitiveFormat)
	}
	if err != nil {
		return nil, fmt.Errorf("what was recorded as sensitive cannot be read from %s: %w; without that file former secrets may be shown", path, err)
	}
	all := SensitiveAttributes{}
	for _, a := range record.Attributes {
		all[a] = true
	}
	return all, nil
}

// sensitiveInRuns is what older versions have recorded: each run that is kept says it of
// its own parts. A run whose record is gone or damaged says nothing.
func (f *Folder) sensitiveInRuns() (SensitiveAttributes, error) {
	ids, err := f.ids()
	all := SensitiveAttributes{}
	for _, id := range ids {
		var run states.StateRun
		switch wrong := f.disk.readJSON(f.path(id, "run.json"), &run); {
		case wrong == nil:
			all.add(&run)
		case !isLost(wrong):
			err = Join(err, fmt.Errorf("what run %s has recorded as sensitive cannot be read: %w", id, wrong))
		}
	}
	return all, err
}

// writeSensitive records them, durably: before a secret is written anywhere, and after
// what is no secret has taken its place.
func (f *Folder) writeSensitive(all SensitiveAttributes) error {
	list := slices.SortedFunc(maps.Keys(all), func(a, b SensitiveAttribute) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Attribute, b.Attribute), cmp.Compare(a.Path, b.Path))
	})
	data, err := seal(struct {
		Format     string               `json:"format"`
		Attributes []SensitiveAttribute `json:"attributes"`
	}{SensitiveFormat, list})
	if err != nil {
		return err
	}
	return f.disk.replace(filepath.Join(f.dir, sensitiveFile), data, len(all) > 0)
}

// Sensitive gives what the runs before this one have recorded as sensitive.
func (r *Run) Sensitive() SensitiveAttributes { return maps.Clone(r.sensitive) }

// recordSensitive adds what this run is about to write. It writes the record where there is
// none, so that the runs need not be asked again.
func (r *Run) recordSensitive(run *states.StateRun) error {
	all := maps.Clone(r.sensitive)
	all.add(run)
	_, err := os.Lstat(filepath.Join(r.folder.dir, sensitiveFile))
	if err == nil && maps.Equal(all, r.sensitive) {
		return nil
	}
	return r.folder.writeSensitive(all)
}

// settles takes note of how a part has ended.
func (r *Run) settles(ev *states.Event) {
	if ev.Type == states.EventPart && (ev.Outcome == states.Changed || ev.Outcome == states.Unchanged) {
		r.settled = append(r.settled, ev.Address)
	}
}

// leaveSensitive records what is sensitive after the run. A run of nothing that is or was
// sensitive costs nothing.
func (r *Run) leaveSensitive() error {
	if r.run == nil {
		return nil
	}
	before := maps.Clone(r.sensitive)
	before.add(r.run)
	if len(before) == 0 {
		return nil
	}
	after, parts := maps.Clone(before), map[string]*states.Part{}
	eachPart(r.run, func(p *states.Part) { parts[p.Address] = p })
	for _, address := range r.settled {
		if p := parts[address]; p != nil {
			after.settle(p)
		}
	}
	after.add(&states.StateRun{Invocations: r.run.Invocations, Handlers: r.run.Handlers}) // one part may settle what another keeps
	if maps.Equal(before, after) {
		return nil
	}
	return r.folder.writeSensitive(after)
}
