package runtime_test

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/journal"
)

// platter remembers what of a state folder would outlast a loss of power.
type platter struct {
	mu      sync.Mutex
	dir     string
	durable map[string]int64  // how many bytes of a file
	former  map[string][]byte // what stood there before a rename that is not durable
	runs    map[string]bool   // the names in runs/ that are durable
	temp    bool              // the temporary file that was written last is durable
}

// done notes an operation that is about to be done.
func (p *platter) done(op journal.Op) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch name := filepath.Base(op.Path); op.Kind {
	case journal.OpSync:
		p.temp = p.temp || strings.HasPrefix(name, ".tenet-")
		if info, err := os.Stat(op.Path); err == nil && info.Mode().IsRegular() {
			p.durable[op.Path] = info.Size()
		}
		if entries, err := os.ReadDir(op.Path); err == nil {
			for _, e := range entries {
				delete(p.former, filepath.Join(op.Path, e.Name()))
				p.runs[filepath.Join(op.Path, e.Name())] = true
			}
		}
	case journal.OpRename:
		if _, twice := p.former[op.Path]; !twice {
			p.former[op.Path], _ = os.ReadFile(op.Path)
		}
		delete(p.durable, op.Path)
		if p.temp || strings.HasSuffix(op.Path, "run.json") { // that is synced by its name, later
			p.durable[op.Path] = math.MaxInt64
		}
		p.temp = false
	case journal.OpLink: // to what is durable
		p.durable[op.Path] = math.MaxInt64
	}
}

// losePower cuts everything to what is durable, and events to that and a share of
// what else was written, in percent. A name that is new, or was given to another
// file, stands for the old one or for an empty file: both happen.
func (p *platter) losePower(empty bool, share int64) error {
	runs := filepath.Join(p.dir, "runs")
	return filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == p.dir || path == runs || filepath.Base(path) == "lock" {
			return err
		}
		if filepath.Dir(path) == runs && !p.runs[path] {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return filepath.SkipDir
		}
		if e.IsDir() {
			return nil
		}
		former, renamed := p.former[path]
		switch {
		case renamed && !empty && former == nil:
			return os.Remove(path)
		case renamed && !empty:
			return os.WriteFile(path, former, 0o600)
		}
		info, err := e.Info()
		size := p.durable[path]
		if err == nil && info.Size() > size {
			if filepath.Base(path) == "events.jsonl" {
				size += (info.Size() - size) * share / 100
			}
			err = os.Truncate(path, size)
		}
		return err
	})
}

// lose takes the power away: what the host or the state folder had not made
// durable is gone, or both.
func lose(onHost, inJournal bool) func(*world, int) {
	return func(w *world, k int) {
		if onHost {
			w.losePower()
		}
		if inJournal {
			w.must(w.platter.losePower(k%2 == 0, int64(max(k%5-1, 0)*33)))
			// A temporary file may outlast the record that would tell of it.
			w.untidy = !onHost
		}
		w.platter = newPlatter(w.state) // what is there now is there to stay
		w.sync()
	}
}

// newPlatter takes what is there for durable.
func newPlatter(dir string) *platter {
	p := &platter{dir: dir, durable: map[string]int64{}, former: map[string][]byte{}, runs: map[string]bool{}}
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		p.durable[path], p.runs[path] = math.MaxInt64, true
		return err
	})
	return p
}

// damage spoils a file of the state folder, in whatever run.
func damage(name string, spoil func([]byte) []byte) func(*world, int) {
	return func(w *world, _ int) {
		for _, pattern := range []string{name, "runs/*/" + name} {
			paths, err := filepath.Glob(filepath.Join(w.state, pattern))
			w.must(err)
			for _, path := range paths {
				data, err := os.ReadFile(path)
				w.must(err)
				w.must(os.WriteFile(path, spoil(data), 0o600))
			}
		}
	}
}

func halfOf(data []byte) []byte { return data[:len(data)/2] }

func noneOf([]byte) []byte { return nil }

func rubbish(data []byte) []byte { return fmt.Appendf(nil, "\x00%s", data) }
