package conformance

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// watched is a host that watches what reaches a shell.
type watched struct {
	host.Host
	t    T
	text string
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

// Actor is the acting user of the host.
func (w *watched) Actor() (uid, gid int) {
	if a, ok := w.Host.(host.Actor); ok {
		return a.Actor()
	}
	return 0, 0
}

// Init is Machine.Init.
func (w *watched) Init(ctx context.Context, user string) (host.Init, error) {
	return host.InitOf(ctx, w.Host, user)
}

// Links is Machine.Links.
func (w *watched) Links(ctx context.Context) (host.Links, error) { return host.LinksOf(ctx, w.Host) }

// Network is Machine.Network.
func (w *watched) Network() (host.Network, error) { return host.NetworkOf(w.Host) }

// Tune is Machine.Tune.
func (w *watched) Tune(path, value string) error { return host.Tune(w.Host, path, value) }

// watch looks for the text in what a shell would read. As a further argument,
// which the shell only hands on, it does no harm.
func (w *watched) watch(c host.Command) {
	if len(c.Argv) == 0 || len(strings.TrimSpace(w.text)) < 2 {
		return
	}
	shells := []string{"sh", "bash", "dash", "ash", "ksh", "zsh", "su", "eval"}
	if !slices.Contains(shells, path.Base(c.Argv[0])) {
		return
	}
	script := false
	for i, arg := range c.Argv[:len(c.Argv)-1] {
		if !strings.HasPrefix(arg, "-") || !strings.HasSuffix(arg, "c") {
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
