// Package bundle is what a machine needs to drive itself: a StateRun, the files that
// it refers to, and what an apply has to know besides. A controller makes a Bundle,
// and sends it without the files that the machine has already; a runner keeps the
// files by their digests, so that the next bundle is small.
//
// On the connection a bundle is a header and then contents, each a compressed stream
// in pieces. The header names every file with size and digest, and has a digest
// itself: so nothing can come that is not what was sent. The runner answers with what
// it lacks although it was left out, until that is nothing.
package bundle

import (
	"io/fs"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Format is the version of bundles.
const Format = "tenet.bundle/1"

// Bundle is what one machine is to do. All but its files is in memory.
type Bundle struct {
	// Execution is the controller's name for what it does on all hosts; see
	// journal.Status. Empty, as for a plan: nobody goes on with it later.
	Execution string
	Origin    string                    // where the site lies: "CONTROLLER:/path"
	Run       *states.StateRun          // with its secrets
	Places    map[string]journal.Source // of declarations, by address
	Modules   []machine.Modules         // the site's own
	// Rows is what a plan has shown: an apply does that or nothing. Nil: whatever
	// there is to do.
	Rows        []states.Event
	Parallel    int           // how many invocations at once; 0: as the machine can
	LockTimeout time.Duration // see journal.Meta
	Once        bool          // see machine.Job
	// Files opens what parts name and the modules; it is a states.TreeFS.
	Files fs.FS
}

// Site names the site in records.
func (b *Bundle) Site() string { return journal.Identity(b.Run.Site, b.Origin) }

// Of makes a bundle of a job.
func Of(j *machine.Job) *Bundle {
	return &Bundle{
		Execution: j.Execution, Origin: j.Origin, Run: j.Run, Places: j.Sources(), Modules: j.Modules,
		Rows: j.Rows, Parallel: j.Parallel, LockTimeout: j.LockTimeout, Once: j.Once, Files: j.Files,
	}
}

// Job makes a job of the bundle.
func (b *Bundle) Job() *machine.Job {
	j := &machine.Job{
		Execution: b.Execution, Origin: b.Origin, Run: b.Run, Modules: b.Modules,
		Rows: b.Rows, Parallel: b.Parallel, LockTimeout: b.LockTimeout, Once: b.Once, Files: b.Files,
	}
	j.Places, j.Line = machine.PlacesOf(b.Places)
	return j
}
