package cli

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/packages/git"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/runner"
)

// console is where a command reads, asks and prints, in the form that the user wants.
type console struct {
	Environment
	globals *Globals
}

// client is one run of the program.
type client struct {
	console
	command string // such as "tenet apply"
	// lockTimeout is how long to wait for another apply.
	lockTimeout      time.Duration
	once             bool // an apply comes between what an agent does
	model            *kong.Application
	dogs             dogs
	forMany          bool // a site is evaluated for many hosts, which keep what they need
	interrupts       interrupts
	summary          bool                                                        // of plans no more than a line for each host is shown
	prune            bool                                                        // runs remove what their site declares no longer
	clusterPatience  time.Duration                                               // how long an apply waits for members of clusters
	packageOpener    func(site fs.FS) func(source string) (*lang.Package, error) // nil: as the lock says
	gitCredentials   git.Credentials
	gitCAFile        string
	former           []string          // documents that rules take for what was there
	allowEmpty       bool              // rules that select nothing any more delete all that they have made
	shownDiagnostics *shownDiagnostics // diagnostics that were shown; nil: each is shown
	diagnosticCount  int               // how many were shown
	display          sync.Mutex        // of diagnostics: jobs of several hosts are made at once
	evaluation       *lastEvaluation   // of watch; nil: each is for one time
	// secretsHidden says that a site is only checked, and no secret opened.
	secretsHidden bool
	// inventoryHidden says that a site is only checked, and no program asked for hosts.
	inventoryHidden bool
	keys            []secrets.Identity // that may open secrets, once they are read
	newPassphrase   string             // of the secrets, once it was asked for
	becomePass      string             // for sudo or doas, likewise
	collectors      collectors         // to whom is told what runs do
	// pauseDisplay calls what asks on the terminal, with what is drawn there out of its way; nil:
	// nothing is.
	pauseDisplay func(call func())
	// showNote shows a line among what goes on; nil: nothing does.
	showNote func(text string)
}

// getenv gives an environment variable, or "".
func (c *console) getenv(name string) string {
	for i := len(c.Environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(c.Environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// terminal gives the width of a terminal, and whether w is one.
func terminal(w any) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		width = 80
	}
	return width, true
}

// screen gives the size of a terminal.
func screen(w any) (width, height int) {
	width, _ = terminal(w)
	height = 24
	if f, ok := w.(*os.File); ok {
		if _, h, err := term.GetSize(int(f.Fd())); err == nil && h > 3 {
			height = h
		}
	}
	return width, height
}

// color reports whether text on w is coloured.
func (c *console) color(w any) bool {
	_, tty := terminal(w)
	return tty && !c.globals.NoColor && c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb"
}

// print writes data to standard output.
func (c *console) print(args ...any) error {
	_, err := fmt.Fprintln(c.Out, args...)
	return failure(err)
}

// printJSON writes one indented JSON value to standard output.
func (c *console) printJSON(v any) error {
	return failure(plainjson.WriteIndented(c.Out, v))
}

// printLine writes one JSON value on a line of its own.
func (c *console) printLine(v any) error {
	return unread(failure(plainjson.NewEncoder(c.Out).Encode(v)))
}

// newHost opens the machine.
func (s *client) newHost() (*host.Local, error) {
	h, err := host.NewLocal(host.LocalOptions{Root: s.globals.Root})
	if err != nil {
		return nil, usage("", "--root: %w", err)
	}
	return h, nil
}

// stateDir is where the records of runs are kept.
func (s *client) stateDir() (string, error) {
	given := s.globals.StateDir
	if s.globals.Root == "" {
		given = cmp.Or(given, s.StateDir)
	}
	dir, err := runner.StateDir(given, s.globals.Root, s.getenv)
	return dir, s.ran(err)
}
