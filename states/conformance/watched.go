package conformance

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/host"
)

// watched is a host that watches what its programs are given.
type watched struct {
	host.Host
	t      T
	text   string // what is not to break out; empty: nothing
	secret bool   // the text is one

	mu      sync.Mutex
	started [][]string
}

// Run is Processes.Run.
func (w *watched) Run(ctx context.Context, c host.Command) (host.Result, error) {
	w.watch(c)
	return w.Host.Run(ctx, c)
}

// Query is Processes.Query.
func (w *watched) Query(ctx context.Context, q host.Query) (host.Result, error) {
	w.watch(q.Command)
	return w.Host.Query(ctx, q)
}

// watch notes what is started, and looks for the text where it can do harm.
func (w *watched) watch(c host.Command) {
	if len(c.Argv) == 0 {
		return
	}
	w.mu.Lock()
	w.started = append(w.started, c.Argv)
	w.mu.Unlock()
	w.watchOptions(c.Argv)
	if len(strings.TrimSpace(w.text)) < 2 {
		return
	}
	if w.secret && slices.ContainsFunc(c.Argv, func(arg string) bool { return strings.Contains(arg, w.text) }) {
		w.t.Errorf("a secret stands in the command line of %s", c.Argv[0])
	}
	w.watchShell(c)
}

// watchOptions looks for the text where a program takes it for an option: before any
// "--", and not behind an option whose value it is.
func (w *watched) watchOptions(argv []string) {
	if !strings.HasPrefix(w.text, "-") || w.text == "-" {
		return
	}
	for i, arg := range argv[1:] {
		if arg == "--" {
			return
		}
		behind := argv[i]
		if strings.HasPrefix(arg, w.text) && (i == 0 || !strings.HasPrefix(behind, "-") || strings.Contains(behind, "=")) {
			w.t.Errorf("it stands where %s looks for options: %.200q", argv[0], argv)
		}
	}
}

// watchShell looks for the text in what a shell, or the like, would read. As a further
// argument, which it only hands on, it does no harm.
func (w *watched) watchShell(c host.Command) {
	shells := []string{"sh", "bash", "dash", "ash", "ksh", "zsh", "su", "eval", "perl", "python", "python3"}
	if !slices.Contains(shells, path.Base(c.Argv[0])) {
		return
	}
	script := false
	for i, arg := range c.Argv[:len(c.Argv)-1] {
		if !strings.HasPrefix(arg, "-") || !strings.HasSuffix(arg, "c") && arg != "-e" {
			continue
		}
		script = true
		if text := c.Argv[i+1]; strings.Contains(text, w.text) {
			w.t.Errorf("it reaches a shell: %.200q", text)
		}
	}
	if !script && strings.Contains(string(c.Stdin), w.text) {
		w.t.Errorf("it reaches a shell by its standard input")
	}
}
