package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
)

// Folder has the States of a machine's loops, a file each:
//
//	SITE.json   the State
//	SITE.lock   held by the process that runs the loop
//	SITE.again  somebody wants another try: gone once the loop knows
type Folder struct {
	Dir      string
	Volatile bool // what is written need not outlive a loss of power
}

// In is the folder of a machine, in its state folder.
func In(stateDir string) *Folder { return &Folder{Dir: filepath.Join(stateDir, "loops")} }

const (
	suffixState = ".json"
	suffixLock  = ".lock"
	suffixAgain = ".again"
)

// path is named by a digest: the site is named by others.
func (f *Folder) path(site, suffix string) string {
	sum := sha256.Sum256([]byte(site))
	return filepath.Join(f.Dir, hex.EncodeToString(sum[:16])+suffix)
}

// lock keeps other processes from running the loop of a site, until the file is closed.
func (f *Folder) lock(site string) (*os.File, error) {
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.path(site, suffixLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = &diag.HintError{Message: fmt.Sprintf("another process keeps %s here already", site), Hint: "end the other tenet watch, or let the agent do it alone"}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// load reads the State of a loop. One that cannot be read is an error: nobody knows what must not be applied.
func (f *Folder) load(site string, now time.Time) (State, error) {
	s, err := read(f.path(site, suffixState))
	if errors.Is(err, fs.ErrNotExist) {
		return NewState(site, now), nil
	}
	return s, err
}

func read(path string) (s State, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err = json.Unmarshal(data, &s); err == nil && s.Format != Format {
		err = fmt.Errorf("it has the format %.40q, and this program knows %q", s.Format, Format)
	}
	if err == nil && !known(s.Phase) {
		err = fmt.Errorf("it has the phase %.40q", s.Phase)
	}
	if err != nil {
		return s, &diag.HintError{Err: fmt.Errorf("%s: %w", path, err), Hint: "remove the file: the loop then begins as on its first day"}
	}
	return s, nil
}

func known(p Phase) bool {
	for _, one := range Phases() {
		if p == one {
			return true
		}
	}
	return false
}

// Save puts a State in the place of the former one, for who asks where a loop stands that keeps its own records.
func (f *Folder) Save(s State) error {
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return err
	}
	return f.save(s)
}

// save makes a State durable in the place of the former one.
func (f *Folder) save(s State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Replace(f.path(s.Site, suffixState), atomicfile.Options{Durable: !f.Volatile}, atomicfile.Data(data))
}

// Remove removes what is known of a loop.
func (f *Folder) Remove(site string) error {
	return errors.Join(gone(os.Remove(f.path(site, suffixState))), gone(os.Remove(f.path(site, suffixAgain))))
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List gives the States of all loops, by the names of their files. It waits for nobody.
func (f *Folder) List() (list []State, err error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return nil, gone(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffixState) || strings.HasPrefix(e.Name(), atomicfile.TempPrefix) {
			continue
		}
		s, failed := read(filepath.Join(f.Dir, e.Name()))
		switch {
		case errors.Is(failed, fs.ErrNotExist):
		case failed != nil:
			err = errors.Join(err, failed)
		default:
			list = append(list, s)
		}
	}
	return list, err
}

// AskAgain has the loop of a site try again, in whatever process that runs.
func (f *Folder) AskAgain(site string) error {
	return atomicfile.Replace(f.path(site, suffixAgain), atomicfile.Options{Durable: !f.Volatile}, atomicfile.Data(nil))
}

// isAsked tells whether AskAgain was called since answered was.
func (f *Folder) isAsked(site string) bool {
	_, err := os.Lstat(f.path(site, suffixAgain))
	return err == nil
}

// TakeAgain tells whether AskAgain was called, and takes note that it is known.
func (f *Folder) TakeAgain(site string) (bool, error) {
	if !f.isAsked(site) {
		return false, nil
	}
	return true, f.answered(site)
}

func (f *Folder) answered(site string) error { return gone(os.Remove(f.path(site, suffixAgain))) }
