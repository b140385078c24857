package machine

import (
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// Job is what a machine is to do, and all that it needs for it.
type Job struct {
	Run       *states.StateRun      // with its secrets
	Registry  *states.Registry      // with the site's own modules; nil: the machine's
	Files     fs.FS                 // what parts name, and the modules: a states.TreeFS
	Modules   []Modules             // the site's own
	Origin    string                // where the site lies: a path, or "CONTROLLER:/path"
	Execution string                // the controller's name for what it does on all machines; empty: none
	Places    map[string]diag.Range // of declarations, by address
	// Line gives the text of a line that a place names, for the records; nil: none is known.
	Line func(file string, number int) string
	Plan string         // the file of the saved plan that is carried out; empty: none
	Rows []states.Event // what was consented to: an apply does that or nothing; nil: anything
	// Observe adds to the rows of a plan what a consent to them must be about; see
	// planfile.Observe.
	Observe  bool
	Parallel int // how many invocations at once; 0: as the machine can
	// LockTimeout is how long to wait for another apply.
	LockTimeout time.Duration
	Become      Become
	// Once carries it out on a host whose agent keeps it as this site says: else that is refused.
	Once bool
	// Keeper says that this agent itself carries it out. It is never sent.
	Keeper bool
}

// Modules are the files of one directory of modules that a site brings along.
type Modules struct {
	Dir   string   `json:"dir"`
	Files []string `json:"files"`
}

// Become is how parts act as other accounts.
type Become struct {
	Method   string // "sudo" or "doas"; empty: sudo
	Password string // that it asks for; empty: none
}

// Sources gives the places of declarations with their lines, for records.
func (j *Job) Sources() map[string]journal.Source {
	sources := make(map[string]journal.Source, len(j.Places))
	for address, place := range j.Places {
		s := journal.Source{File: place.File, Line: place.Start.Line, Column: place.Start.Column}
		if j.Line != nil {
			s.Text = j.Line(s.File, s.Line)
		}
		sources[address] = s
	}
	return sources
}

// PlacesOf gives the places of declarations, and their lines, that were recorded or saved.
func PlacesOf(sources map[string]journal.Source) (map[string]diag.Range, func(file string, number int) string) {
	type place struct {
		file string
		line int
	}
	places, lines := make(map[string]diag.Range, len(sources)), make(map[place]string, len(sources))
	for address, s := range sources {
		at := diag.Pos{Line: s.Line, Column: s.Column}
		places[address] = diag.Range{File: s.File, Start: at, End: at}
		lines[place{s.File, s.Line}] = s.Text
	}
	return places, func(file string, number int) string { return lines[place{file, number}] }
}

// RunRef names a run, from a point on.
type RunRef struct {
	ID string // of the run or its execution, or the beginning of one; empty: the latest
	// Host tells runs of one execution apart where a machine is several of its hosts;
	// empty: any.
	Host  string
	After int64 // the number of the last event that is known
}

// Resumption says how to go on with a run.
type Resumption struct {
	Run         RunRef // which one; After is of no account
	Execution   string // in which a controller goes on with it; empty: none does
	Parallel    int
	LockTimeout time.Duration
	Become      Become
	Keeper      bool // see Job
}

// Result is how a run, or a plan, ended.
type Result struct {
	Run         string         `json:"run,omitempty"`
	Counts      states.Counts  `json:"counts"`
	Failed      bool           `json:"failed,omitempty"`
	Interrupted bool           `json:"interrupted,omitempty"`
	Rebooting   bool           `json:"rebooting,omitempty"`
	Report      *states.Report `json:"report,omitempty"`
	// Outputs are what the host hands to others, by name.
	Outputs map[string]states.Output `json:"outputs,omitempty"`
}

// Reason says in one line what failed, of several the first; empty: nothing did.
func (r *Result) Reason() string {
	if !r.Failed {
		return ""
	}
	text := fmt.Sprintf("%d failed", r.Counts.Failed)
	if r.Report == nil {
		return text
	}
	for _, p := range r.Report.Parts {
		if p.Error != nil {
			message, _, _ := strings.Cut(p.Error.Message, "\n")
			return text + ": " + p.Address + ": " + message
		}
	}
	return text
}

// IsRunName tells whether something can be the name of a run: a stranger may say anything.
func IsRunName(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return s != "" && len(s) <= 100
}
