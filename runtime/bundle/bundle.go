// Package bundle is what a machine needs to drive itself: a StateRun, the files that
// it refers to, and what an apply has to know besides. A controller makes a Bundle,
// and sends it without the files that the machine has already; a runner keeps the
// files by their digests, so that the next bundle is small.
package bundle

import (
	"errors"
	"io/fs"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Format is the version of bundles.
const Format = "tenet.bundle/1"

// Bundle is what one machine is to do. All but its files is in memory.
type Bundle struct {
	Execution string                    // the controller's name for what it does on all hosts; see journal.Status
	Origin    string                    // where the site lies: "CONTROLLER:/path"
	Run       *states.StateRun          // with its secrets
	Places    map[string]journal.Source // of declarations, by address
	Modules   []planfile.Modules        // the site's own
	// Rows is what a plan has shown: an apply does that or nothing. Nil: whatever
	// there is to do.
	Rows        []states.Event
	Parallel    int           // how many invocations at once; 0: as the machine can
	LockTimeout time.Duration // see journal.Meta
	// Files opens what parts name and the modules; it is a states.TreeFS.
	Files fs.FS
}

// Send sends a bundle, and what the machine then says that it lacks. Have is that of
// the machine's Hello. The registry tells which values name files.
func (b *Bundle) Send(c *wire.Conn, have []byte, registry *states.Registry) error {
	return errors.New("bundle: not written yet")
}

// Store keeps files by their digests in a folder of the machine, for its owner
// alone.
type Store struct {
	Dir string // below the state folder
}

// Have lists what the last bundle of a site left, as Hello.Have wants it.
func (s *Store) Have(site string) []byte { return nil }

// Receive receives a bundle into the store. All of it is checked: the error is for
// one that is damaged, and then nothing of it is used. It keeps what the bundle of
// the run needs, so that Open finds it after a crash, until Forget.
func (s *Store) Receive(c *wire.Conn) (*Bundle, error) {
	return nil, errors.New("bundle: not written yet")
}

// Open gives the files and modules of a bundle that was received, by its execution:
// its Run, Places and Rows are nil, since the journal has them.
func (s *Store) Open(execution string) (*Bundle, error) {
	return nil, errors.New("bundle: not written yet")
}

// Forget removes what an execution needed, and contents that no bundle has named for
// a long time.
func (s *Store) Forget(execution string) error { return errors.New("bundle: not written yet") }
