package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
)

// sealedDir holds bundles as they came: encrypted.
const sealedDir = "sealed"

// plannedPrefix begins the names of folders for what is only planned.
const plannedPrefix = "planned-"

// turnWait is how long a claim may stay without an answer before it is made again.
const turnWait = 20 * time.Second

// maxSilent is how often it is made before the agent goes on with something else.
const maxSilent = 3

// job opens an assignment, and fetches what it needs and the host lacks.
func (a *Agent) job(ctx context.Context, want *control.Assigned) (*machine.Job, error) {
	b, err := a.openHeld(ctx, want)
	if err != nil {
		return nil, err
	}
	j := b.Job()
	if len(j.Modules) > 0 {
		j.Registry, err = runner.Modules(a.Registry, j.Files, j.Modules)
	}
	return j, err
}

// Unseal opens what is sealed to this host and not assigned to it: for plans. See Runner.Unseal.
func (a *Agent) Unseal(ctx context.Context, s *wire.Sealed) (*machine.Job, error) {
	want := &control.Assigned{Assignment: trust.Assignment{Site: s.Site}}
	read := func(c wire.Content) (out trust.Content, err error) {
		out.Size = c.Size
		return out, out.SHA256.UnmarshalText([]byte(c.SHA256))
	}
	err := error(nil)
	if want.Bundle, err = read(s.Bundle); err != nil {
		return nil, err
	}
	for _, c := range s.Files {
		f, err := read(c)
		if err != nil {
			return nil, err
		}
		want.Files = append(want.Files, f)
	}
	dir, err := os.MkdirTemp(a.Dir, plannedPrefix)
	if err != nil {
		return nil, err
	}
	b, err := a.openIn(ctx, dir, want, nil)
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return nil, err
	}
	return b.Job(), nil
}

// openHeld opens an assignment. What came for it stays, sealed, while it is held.
func (a *Agent) openHeld(ctx context.Context, want *control.Assigned) (*bundle.Bundle, error) {
	dir := filepath.Join(a.Dir, sealedDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	b, err := a.openIn(ctx, dir, want, nil)
	if err != nil {
		return nil, err
	}
	return b, a.sweepSealed(dir)
}

// keepContents keeps the contents of an assignment, whatever its site comes to need after it.
func (a *Agent) keepContents(ctx context.Context, want *control.Assigned) error {
	_, err := a.openIn(ctx, filepath.Join(a.Dir, sealedDir), want, func() error { return a.store().KeepLast(want.Site) })
	return err
}

// openIn opens an assignment, and has something done before anything else of its site is opened.
func (a *Agent) openIn(ctx context.Context, dir string, want *control.Assigned, then func() error) (*bundle.Bundle, error) {
	a.fetching.Lock() // answers to claims are told apart by their site
	defer a.fetching.Unlock()
	f := &fetcher{agent: a, ctx: ctx, want: want, dir: dir, tickets: map[trust.Digest]string{}}
	defer f.done()
	path, err := f.fetch(want.Bundle, []trust.Content{want.Bundle})
	if err != nil {
		return nil, fmt.Errorf("what is wanted cannot be fetched: %w", err)
	}
	sealed, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if trust.DigestOf(sealed) != want.Bundle.SHA256 { // it was right when it came
		return nil, errors.Join(errors.New("what is wanted was damaged on this host's disk, and is fetched anew"), os.Remove(path))
	}
	b, err := a.store().Unseal(sealed, f.contents, a.Unsealing()...)
	if err != nil {
		return nil, fmt.Errorf("what is wanted cannot be opened: %w", err)
	}
	if b.Run.Site != want.Site {
		return nil, fmt.Errorf("what is wanted of the site %s is a run of %s", want.Site, b.Run.Site)
	}
	b.Execution = ""
	if then != nil {
		err = then()
	}
	return b, err
}

// sweepSealed removes bundles that nothing names any more.
func (a *Agent) sweepSealed(dir string) error {
	used := map[string]bool{}
	a.mu.Lock()
	for _, one := range a.core.Held {
		used[one.Bundle.SHA256.String()] = true
	}
	a.mu.Unlock()
	for _, one := range a.keeper.goneBackTo() {
		used[one.Bundle.SHA256.String()] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		if used[name] {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// fetcher fetches what one assignment needs.
type fetcher struct {
	agent   *Agent
	ctx     context.Context
	want    *control.Assigned
	dir     string
	tickets map[trust.Digest]string
	claimed bool
}

// contents gives what opens the contents that lack, each of which has to be named by what was signed.
func (f *fetcher) contents(lacking []trust.Content) func(trust.Content) (io.ReadCloser, error) {
	listed := make(map[trust.Content]bool, len(f.want.Files))
	for _, c := range f.want.Files {
		listed[c] = true
	}
	place := make(map[trust.Content]int, len(lacking))
	for i, c := range lacking {
		place[c] = i
	}
	return func(c trust.Content) (io.ReadCloser, error) {
		if !listed[c] {
			return nil, fmt.Errorf("the file %s is needed, and what was signed does not name it", c.SHA256)
		}
		path, err := f.fetch(c, lacking[place[c]:])
		if err != nil {
			return nil, err
		}
		in, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		return in, os.Remove(path) // it is copied into the store
	}
}

// fetch gets a content into the folder. Tickets are asked for it and for those that come next.
func (f *fetcher) fetch(c trust.Content, next []trust.Content) (string, error) {
	path := filepath.Join(f.dir, c.SHA256.String())
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == c.Size {
		return path, nil
	}
	for try := 0; ; try++ {
		if f.tickets[c.SHA256] == "" {
			if err := f.claim(next[:min(len(next), control.MaxClaim)]); err != nil {
				return "", err
			}
		}
		path, err := f.agent.Fetch(f.ctx, f.dir, c, f.tickets[c.SHA256])
		if err == nil || try > 0 || f.ctx.Err() != nil {
			return path, err
		}
		clear(f.tickets) // they may be over
	}
}

// claim waits for a turn.
func (f *fetcher) claim(wanted []trust.Content) error {
	c := &control.Claim{Site: f.want.Site}
	for _, w := range wanted {
		c.Contents = append(c.Contents, w.SHA256)
	}
	f.claimed = true
	for silent := 0; ; {
		turn, err := f.agent.claim(f.ctx, c)
		switch {
		case err != nil:
			return err
		case turn == nil:
			if silent++; silent == maxSilent { // others want their turn
				return errors.New("no server answers")
			}
		case len(turn.Tickets) > 0:
			maps.Copy(f.tickets, turn.Tickets)
			if f.tickets[wanted[0].SHA256] == "" {
				return errors.New("the server gives nothing of it")
			}
			return nil
		case turn.RetryAfter > 0:
			wait(f.ctx, min(turn.RetryAfter, time.Hour))
		default:
			return fmt.Errorf("the server gives nothing of it: %.200s", diag.Clean(turn.Why, "\n", '�'))
		}
	}
}

// done gives the turn back.
func (f *fetcher) done() {
	if f.claimed {
		f.agent.mu.Lock()
		defer f.agent.mu.Unlock()
		// Where that is lost the turn ends by itself.
		_ = f.agent.send(&control.Claim{Session: f.agent.core.Session(), Site: f.want.Site})
	}
}

// claim asks once, and waits for an answer; nil: there was none.
func (a *Agent) claim(ctx context.Context, c *control.Claim) (*control.Turn, error) {
	answer := make(chan *control.Turn, 1)
	a.mu.Lock()
	c.Session = a.core.Session()
	a.turns[c.Site] = awaitedTurn{c.Session, answer}
	err := a.send(c)
	a.mu.Unlock()
	if err != nil && !errors.Is(err, link.ErrFull) {
		a.Log(err) // it is asked again
	}
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C:
		return nil, nil
	case turn := <-answer:
		return turn, nil
	}
}

// awaitedTurn is a claim that waits for its answer.
type awaitedTurn struct {
	session string // in which it was made
	answer  chan<- *control.Turn
}

// turn hands the answer to a claim on. A session may have begun since the claim was made, as with each assignment that comes: what the server has
// answered before it knew of that counts.
func (a *Agent) turn(t *control.Turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w, ok := a.turns[t.Site]; ok && (t.Session == w.session || t.Session == a.core.Session()) {
		delete(a.turns, t.Site)
		w.answer <- t
	}
}

// Files opens what a run of the agent's needs, for Runner.Files: the host may have started anew since.
func (a *Agent) Files(ctx context.Context, was journal.Status) (fs.FS, error) {
	digest, _, ok := strings.Cut(strings.TrimPrefix(was.Execution, executionPrefix), "-")
	if !ok || !strings.HasPrefix(was.Execution, executionPrefix) {
		return nil, nil
	}
	want := a.assigned(digest)
	if want == nil {
		return nil, nil
	}
	b, err := a.openHeld(ctx, want)
	if err != nil {
		return nil, err
	}
	return b.Files, nil
}

// assigned finds an assignment that is held, or that the host was brought to last, by the begin of the digest of what was signed; nil: it is neither.
func (a *Agent) assigned(digest string) *control.Assigned {
	list := a.keeper.goneBackTo()
	a.mu.Lock()
	list = append(list, slices.Collect(maps.Values(a.core.Held))...)
	a.mu.Unlock()
	for _, one := range list {
		if strings.HasPrefix(trust.DigestOf(one.Signed.Content).String(), digest) {
			return one
		}
	}
	return nil
}

// goneBackTo lists what the host was brought to last, and can be gone back to.
func (k *keeper) goneBackTo() (list []*control.Assigned) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.sites {
		if s.converged != nil {
			list = append(list, s.converged)
		}
	}
	return list
}

// store keeps what bundles need.
func (a *Agent) store() *bundle.Store { return &bundle.Store{Dir: a.StateDir} }
