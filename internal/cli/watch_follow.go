package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	langsite "github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/packages/git"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/runtime/source/repository"
)

// followFlags are for a site that is followed in a repository of Git.
type followFlags struct {
	Signers          string   `help:"With git::…: file of allowed signers. Take only what one of them has signed, and only what comes after what counts." placeholder:"FILE"`
	TokenFile        string   `help:"With git::https://…: file whose first line is a token or password." placeholder:"FILE"`
	CredentialHelper string   `help:"With git::https://…: program that git asks for a user and a password, as in gitcredentials(7)." placeholder:"PROGRAM"`
	CAFile           string   `name:"ca-file" help:"With git::https://…: certificates of the authorities that sign those of the repository's host (default: those of the machine)." placeholder:"FILE"`
	SSHKey           string   `help:"With git::ssh://…: private key." placeholder:"FILE"`
	KnownHosts       string   `help:"With git::ssh://…: keys of hosts." placeholder:"FILE"`
	Downtime         []string `sep:"none" help:"With git::… and margo+https://…: time in which the repository or the manager is not asked, and nothing counts as failed." placeholder:"FROM/TO[ REASON]"`
	Report           string   `help:"With git::…: program that gets what became of a revision, as JSON, at each transition." placeholder:"PROGRAM"`
}

// isFollowed tells whether the site is in a repository.
func (cmd *watchCmd) isFollowed() bool { return strings.HasPrefix(cmd.Site, git.Prefix) }

// check refuses flags that do not fit together.
func (f *followFlags) check(cmd *watchCmd) error {
	given := f.Signers + f.TokenFile + f.CredentialHelper + f.CAFile + f.SSHKey + f.KnownHosts + f.Report
	switch {
	case !cmd.isFollowed() && given != "":
		return usage("the site is git::https://HOST/REPOSITORY//DIR?ref=BRANCH", "--signers, --token-file, --credential-helper, --ca-file, --ssh-key, --known-hosts and --report are for a repository that is followed")
	case f.TokenFile != "" && f.CredentialHelper != "":
		return bothCredentials()
	case !cmd.isFollowed() && !cmd.isDevice() && len(f.Downtime) > 0:
		return usage("the site is git::URL, or margo+https://HOST", "--downtime is for what is followed")
	}
	for name, path := range map[string]*string{"signers": &f.Signers, "token-file": &f.TokenFile, "credential-helper": &f.CredentialHelper, "ca-file": &f.CAFile, "ssh-key": &f.SSHKey, "known-hosts": &f.KnownHosts, "report": &f.Report} {
		if err := findFile(name, path); err != nil {
			return err
		}
	}
	_, err := parseDowntimes(f.Downtime)
	return err
}

// findFile makes the path of a flag absolute; an error, if nothing is there. An empty one stays.
func findFile(flag string, path *string) error {
	if *path == "" {
		return nil
	}
	full, err := filepath.Abs(*path)
	if err == nil {
		_, err = os.Stat(full)
	}
	if err != nil {
		return usage("name a file that is there", "--%s: %w", flag, err)
	}
	*path = full
	return nil
}

// parseDowntimes reads those of the command line.
func parseDowntimes(texts []string) (list []source.Downtime, err error) {
	for _, text := range texts {
		d, err := source.ParseDowntime(text)
		if err != nil {
			return nil, usage("", "--downtime %w", err)
		}
		list = append(list, d)
	}
	return list, nil
}

// followWatch is a watch of a site that is followed.
type followWatch struct {
	*watcher
	address  string
	follower *source.Follower
	report   *revisionReport
	count    int // of rounds
	// components are those of the revision that was checked last, and removes tells whether what it does not have is removed.
	components []string
	removes    bool
}

// follow is the loop of a site that is followed.
func (cmd *watchCmd) follow(ctx context.Context, s *client, now <-chan struct{}) (err error) {
	w := &followWatch{watcher: &watcher{client: s, cmd: cmd}, address: cmd.Site}
	s.lockTimeout, s.prune, s.allowEmpty = time.Duration(cmd.LockTimeout), cmd.Prune, cmd.Empty
	s.shownDiagnostics, s.evaluation = &shownDiagnostics{}, &lastEvaluation{now: time.Now}
	dir, err := w.folder()
	if err != nil {
		return failure(err)
	}
	defer func() { cmd.Site = w.address }()
	cmd.Site = filepath.Join(dir, followedSite)
	if err := w.open(); err != nil { // first: it keeps others from what follows
		return failure(err)
	}
	defer func() { err = errors.Join(err, failure(w.loop.Close())) }()
	if err := w.openFollower(dir); err != nil {
		return failure(err)
	}
	w.listen = w.report.hear
	err = w.run(ctx, now)
	if failed := w.report.close(); failed != nil {
		s.report(failure(failed))
	}
	return err
}

// folder is that of the records of the source, in the state folder.
func (w *followWatch) folder() (string, error) {
	state, err := w.stateDir()
	if err == nil {
		err = journal.MakeFolder(state)
	}
	if err == nil {
		state, err = filepath.Abs(state)
	}
	return source.FolderIn(state, followedName(w.address)), err
}

// followedName is the name of the folder of a source, and followedSite that of its site in there.
func followedName(address string) string {
	sum := sha256.Sum256([]byte(address))
	return hex.EncodeToString(sum[:8])
}

const followedSite = "site"

// openFollower takes the follower up where it was, in its folder.
func (w *followWatch) openFollower(dir string) error {
	ref, err := git.ParseReference(w.address)
	if err != nil {
		return err
	}
	cmd := w.cmd
	client := &git.Client{Dir: filepath.Join(filepath.Dir(filepath.Dir(dir)), "repositories"), Getenv: w.getenv, CAFile: cmd.CAFile,
		Credentials: git.Credentials{TokenFile: cmd.TokenFile, Helper: cmd.CredentialHelper, SSHKey: cmd.SSHKey, KnownHosts: cmd.KnownHosts}}
	from, err := client.Repository(ref.URL)
	if err != nil {
		return err
	}
	c := source.Config{Source: &repository.Source{Repository: from, Ref: ref.Ref, Dir: ref.Dir, Signers: cmd.Signers}, Dir: dir, Signed: cmd.Signers != "", Check: w.check, Tell: w.tell}
	if cmd.Poll != nil {
		c.Poll = time.Duration(*cmd.Poll)
	}
	if len(cmd.PollWindow) > 0 {
		c.Windows = langsite.Schedule{windowsOf(cmd.PollWindow)}
	}
	if c.Downtimes, err = parseDowntimes(cmd.Downtime); err != nil {
		return err
	}
	if w.follower, err = source.Open(c); err != nil {
		return err
	}
	if w.report, err = openRevisionReport(dir, w.address, cmd.Report, c.Options, w.showReport); err != nil {
		return err
	}
	if held := w.follower.State().Held; !held.IsZero() && !w.report.tracker.Report().Revision.Is(held) { // a process has died before it could tell
		w.report.tracker.Begin(held, "its turn comes", []string{""}, false)
	}
	return nil
}

// run looks for new revisions, and keeps the machine as the one that counts says.
func (w *followWatch) run(ctx context.Context, now <-chan struct{}) error {
	begun := false
	for n := 1; ; n++ {
		changed, err := w.follower.Turn(ctx)
		if err == nil && w.follower.Folder() != "" && !begun {
			begun, err = true, w.begin()
		} else if err == nil && changed {
			err = w.loop.Again()
		}
		if next := w.nextRound(begun); err == nil && !next.IsZero() && time.Until(next) <= 0 {
			w.count++
			if err = w.round(ctx, w.count); err == nil {
				if failed := w.report.round(w.loop.State(), w.lastEnd, w.last == exitDone, w.options.Mode == reconcile.Audit, w.differing); failed != nil {
					w.client.report(failure(failed))
				}
			}
		}
		if err != nil {
			if errors.Is(err, ctx.Err()) { // between two rounds: a clean end
				return nil
			}
			return failure(err)
		}
		if w.cmd.Rounds > 0 && n >= w.cmd.Rounds {
			break
		}
		if !w.await(ctx, begun, now) {
			return nil
		}
	}
	if !begun || w.follower.State().Problem != nil || w.last != exitDone {
		return &status{code: max(w.last, exitFailed)}
	}
	return nil
}

// nextRound is when the machine is to be looked at; zero: not as long as there is no revision, or somebody is needed.
func (w *followWatch) nextRound(begun bool) time.Time {
	if !begun {
		return time.Time{}
	}
	return w.loop.Next()
}

// await waits for what is due next; false: the context has ended.
func (w *followWatch) await(ctx context.Context, begun bool, now <-chan struct{}) bool {
	left := min(time.Until(w.follower.Next()), markEvery)
	if next := w.nextRound(begun); !next.IsZero() {
		left = min(left, time.Until(next))
	}
	timer := time.NewTimer(max(left, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-now:
		w.follower.Hint()
		if begun {
			if err := w.loop.Again(); err != nil {
				w.client.report(failure(err))
			}
		}
	}
	return ctx.Err() == nil
}

// check tells whether a revision loads, and can be evaluated for this machine.
func (w *followWatch) check(ctx context.Context, dir string) error {
	recording := w.evaluation
	w.evaluation = nil
	defer func() { w.evaluation = recording }()
	c, err := w.load(ctx, dir)
	if err != nil {
		return err
	}
	list := c.Diagnostics()
	if !list.HasErrors() {
		if err := w.client.choose(ctx, c); err != nil {
			return err
		}
		compiled, found, err := w.compileHost(ctx, c, c.Target.Host, c.Target.Facts)
		if err != nil {
			return err
		}
		if list = append(list, found...); compiled != nil {
			w.components, w.removes = compiled.Run.Components(), w.prune || compiled.Run.Prune
			if len(w.components) == 0 {
				w.components = []string{""}
			}
		}
	}
	return firstMistakes(list)
}

// firstMistakes is the error of a site that cannot be used: the first of many.
func firstMistakes(list diag.List) error {
	const most = 5
	var lines []string
	hint := ""
	for _, d := range list.Sorted() {
		if d.Severity != diag.Error {
			continue
		}
		if len(lines) == 0 {
			hint = d.Hint
		}
		if lines = append(lines, strings.TrimPrefix(d.Range.String()+": "+d.Summary, ": ")); len(lines) == most {
			break
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return &diag.HintError{Code: "site", Message: strings.Join(lines, "; "), Hint: hint}
}

// tell tells of the source.
func (w *followWatch) tell(e source.Event) {
	switch e.Kind {
	case source.Advanced:
		w.report.kept.Rejected = nil
		w.report.tracker.Advance(e.Revision)
	case source.Skipped:
		w.report.skip(e)
	case source.Rejected:
		w.report.reject(e)
	case source.Adopted:
		w.report.kept.Rejected = nil
		w.report.tracker.Begin(e.Revision, "its turn comes", w.components, w.removes)
	}
	if w.globals.JSON {
		line := struct {
			Type string `json:"type"`
			source.Event
		}{"source", e}
		if err := w.printLine(line); err == nil {
			return
		}
	}
	text := "source: " + string(e.Kind)
	if !e.Revision.IsZero() {
		text += fmt.Sprintf(" %.12s", e.Revision.ID)
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	fmt.Fprintln(w.Err, ui.Line(text))
	if e.Hint != "" {
		fmt.Fprintln(w.Err, "hint: "+ui.Line(e.Hint))
	}
}

// showReport tells what became of a revision.
func (w *followWatch) showReport(r source.Report) {
	if w.globals.JSON {
		line := struct {
			Type string `json:"type"`
			source.Report
		}{"revision", r}
		if err := w.printLine(line); err == nil {
			return
		}
	}
	if w.globals.Quiet {
		return
	}
	text := fmt.Sprintf("revision %.12s: %s", r.Revision.ID, r.Phase)
	for _, more := range []string{r.Reason, r.Source, r.Message} {
		if more != "" {
			text += ": " + more
		}
	}
	fmt.Fprintln(w.Err, ui.Line(text))
}
