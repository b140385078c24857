package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

type historyCmd struct{}

// existing opens the state folder to look at it; nil when there is none.
func (s *client) existing() (*journal.Folder, error) {
	dir, err := s.stateDir()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	folder, err := s.journal()
	if path, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrPermission) {
		return nil, &status{code: exitFailed, err: fmt.Errorf("the state folder cannot be read: %w", path), hint: "look as the user who applies here"}
	}
	return folder, err
}

// Run lists the runs.
func (cmd *historyCmd) Run(_ runContext, s *client) error {
	folder, err := s.existing()
	if err != nil {
		return err
	}
	list := []journal.Status{}
	if folder != nil {
		if list, err = folder.List(); err != nil {
			return failed(err)
		}
	}
	if s.globals.JSON {
		return s.printJSON(list)
	}
	undone, err := needed(folder)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, run := range list {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", run.Run, when(run.Started), run.State,
			cmp.Or(strings.Join(slices.Concat(sums(run.Counts), undone[run.Run]), ", "), "-"), ui.Line(cmp.Or(run.Site, run.Origin)))
	}
	return failed(out.Flush())
}

func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// needed tells in short, by run, what runs have left undone.
func needed(folder *journal.Folder) (map[string][]string, error) {
	undone := map[string][]string{}
	if folder == nil {
		return undone, nil
	}
	left, err := folder.Ledger()
	if err != nil {
		return nil, &status{code: exitFailed, err: err, hint: elsewhere}
	}
	count := func(word string, runs []string) {
		slices.Sort(runs)
		for len(runs) > 0 {
			n := slices.IndexFunc(runs, func(r string) bool { return r != runs[0] })
			if n < 0 {
				n = len(runs)
			}
			undone[runs[0]] = append(undone[runs[0]], fmt.Sprint(n, " ", word))
			runs = runs[n:]
		}
	}
	count("owed", field(left.Debts, func(d states.Debt) string { return d.Run }))
	count("unknown", field(left.Unknown, func(b states.Begun) string { return b.Run }))
	count("unconfirmed", field(left.Unconfirmed, func(u journal.Unconfirmed) string { return u.Run }))
	return undone, nil
}

func field[T any](list []T, of func(T) string) (out []string) {
	for _, e := range list {
		out = append(out, of(e))
	}
	return out
}

// sums tells in short what a run did.
func sums(c *states.Counts) []string {
	if c == nil {
		return nil
	}
	var words []string
	for _, e := range []struct {
		n    int
		word string
	}{{c.Changed, "changed"}, {c.Failed, "failed"}, {c.Unknown, "unknown"}, {c.Blocked, "blocked"}, {c.Unchanged, "unchanged"}} {
		if e.n > 0 {
			words = append(words, fmt.Sprint(e.n, " ", e.word))
		}
	}
	return words
}

type runArg struct {
	ID string `arg:"" optional:"" help:"ID of a run, or its beginning (default: the latest)."`
}

// find gives the state folder and the status of the run that is meant.
func (s *client) find(id string) (*journal.Folder, journal.Status, error) {
	folder, err := s.existing()
	if err != nil {
		return nil, journal.Status{}, err
	}
	if folder == nil {
		return nil, journal.Status{}, s.nothingYet()
	}
	run, err := folder.Status(id)
	if err != nil {
		return nil, run, &status{code: exitFailed, err: err, hint: "tenet history lists the runs"}
	}
	return folder, run, nil
}

type logsCmd struct{ runArg }

// Run shows the events of a run, and what its programs printed.
func (cmd *logsCmd) Run(_ runContext, s *client) error {
	folder, run, err := s.find(cmd.ID)
	if err != nil {
		return err
	}
	var r ui.Renderer
	if s.globals.JSON {
		r = ui.JSON(s.Out)
	} else {
		r = ui.Text(s.Out, ui.TextOptions{Color: s.color(s.Out), Verbose: s.globals.Verbose, Quiet: s.globals.Quiet})
	}
	for ev, err := range folder.Events(run.Run) {
		if err != nil {
			return failed(err)
		}
		r.Event(ev)
	}
	if err := r.Close(); err != nil || s.globals.JSON || s.globals.Quiet {
		return failed(err)
	}
	return s.outputs(folder, run.Run)
}

func (s *client) outputs(folder *journal.Folder, id string) error {
	names, err := folder.Outputs(id)
	if err != nil {
		return failed(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return failed(err)
		}
		title, err := url.PathUnescape(filepath.Base(name))
		if err != nil {
			title = filepath.Base(name)
		}
		if err := s.print("\n" + ui.Clean(title) + ":\n" + strings.TrimSuffix(ui.Clean(string(data)), "\n")); err != nil {
			return err
		}
	}
	return nil
}
