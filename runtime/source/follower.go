package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/lang/diag"
)

// State is where a follower stands, as its folder keeps it.
type State struct {
	Held Revision `json:"held,omitzero"` // that counts
	// Lost counted, and its files are not there any more. What counts next has to come after it as after any other.
	Lost    Revision `json:"lost,omitzero"`
	Fetched Fetched  `json:"fetched,omitzero"`
	Digest  string   `json:"digest,omitempty"` // of its files: a loss of power may have left others
	// Seen is the newest that was found, and Problem why it is not the one that counts; nil: it is, or its turn comes.
	Seen     Revision  `json:"seen,omitzero"`
	Problem  *Problem  `json:"problem,omitempty"`
	Away     time.Time `json:"away,omitzero"` // since when the source cannot be asked
	AwayText string    `json:"away_text,omitempty"`
	Failures int       `json:"failures,omitempty"`
	Looked   time.Time `json:"looked,omitzero"` // with an answer
	Next     time.Time `json:"next,omitzero"`
}

// Problem is why a revision is not taken.
type Problem struct {
	Code    string    `json:"code,omitempty"`
	Message string    `json:"message"`
	Hint    string    `json:"hint,omitempty"`
	At      time.Time `json:"at"`
}

// Kind is what an Event is about.
type Kind string

// The kinds of events.
const (
	Adopted   Kind = "adopted"   // a revision counts from now on
	Rejected  Kind = "rejected"  // it does not: the former one stays
	Skipped   Kind = "skipped"   // another one came before its turn
	Advanced  Kind = "advanced"  // a revision counts from now on, whose files are the same
	Rewritten Kind = "rewritten" // a revision that counts does not come after the former one
	Away      Kind = "away"      // the source cannot be asked
	Back      Kind = "back"      // it can, again
)

// Event is something that people and programs are told.
type Event struct {
	Kind     Kind      `json:"kind"`
	Time     time.Time `json:"time"`
	Revision Revision  `json:"revision,omitzero"`
	Text     string    `json:"text,omitempty"`
	Hint     string    `json:"hint,omitempty"`
}

// Config describes a follower.
type Config struct {
	Source Source
	Dir    string // of the follower alone; it is made
	Options
	// Signed: what nobody has signed does not count, be it that it did before.
	Signed bool
	// After is a revision that has counted elsewhere: where the folder knows of none, what counts first has to come after it.
	After Revision
	// Check tells whether the files of a revision can be used. An error is why not.
	Check  func(ctx context.Context, dir string) error
	Tell   func(Event)      // nil: nobody is told
	Now    func() time.Time // nil: time.Now
	Random func() float64   // from [0, 1); nil: of math/rand
}

// Follower follows one source. It is for one process, and one goroutine.
type Follower struct {
	Config
	state State
}

// The folder of a follower:
//
//	state.json   the State
//	site         the files of the revision that counts
//	revisions    those that are on the way
const (
	stateName     = "state.json"
	siteName      = "site"
	revisionsName = "revisions"
	maxState      = 1 << 20
)

// Open takes a follower up where it was. What an interrupted one has left half-done is removed.
func Open(c Config) (*Follower, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if err := os.MkdirAll(filepath.Join(c.Dir, revisionsName), 0o700); err != nil {
		return nil, err
	}
	f := &Follower{Config: c}
	data, err := os.ReadFile(filepath.Join(c.Dir, stateName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case len(data) > maxState || json.Unmarshal(data, &f.state) != nil:
		return nil, &diag.HintError{Message: fmt.Sprintf("the record of what is followed, %s, is damaged", filepath.Join(c.Dir, stateName)), Hint: "remove " + c.Dir + ": the source is followed anew"}
	}
	if err := f.place(); err != nil {
		return nil, err
	}
	if !f.isWhole() { // what is lost is brought again, and nothing is applied until then
		f.state.Lost = cmp.Or(f.state.Held, f.state.Lost, c.After)
		f.state.Held, f.state.Seen, f.state.Problem, f.state.Next = Revision{}, Revision{}, nil, time.Time{}
		if err := os.RemoveAll(filepath.Join(f.Dir, siteName)); err != nil {
			return nil, err
		}
	}
	return f, f.clean()
}

// isWhole reports whether the files of the revision that counts are all there, as they came.
func (f *Follower) isWhole() bool {
	if f.state.Held.IsZero() || f.Signed && f.state.Fetched.Signer == "" {
		return false
	}
	digest, err := sitefiles.Digest(context.Background(), filepath.Join(f.Dir, siteName))
	return err == nil && digest == f.state.Digest
}

// place puts the revision that counts where its files are, if that was not done yet: it is recorded before.
func (f *Follower) place() error {
	if f.state.Held.IsZero() {
		return nil
	}
	dir := f.folderOf(f.state.Held)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	site := filepath.Join(f.Dir, siteName)
	if err := os.RemoveAll(site); err != nil {
		return err
	}
	return os.Rename(dir, site)
}

// State tells where the follower stands.
func (f *Follower) State() State { return f.state }

// Folder has the files of the revision that counts, always at the same place; empty: there is none yet.
func (f *Follower) Folder() string {
	if f.state.Held.IsZero() {
		return ""
	}
	dir := filepath.Join(f.Dir, siteName)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

func (f *Follower) folderOf(r Revision) string {
	sum := sha256.Sum256([]byte(r.ID + "\x00" + r.Version))
	return filepath.Join(f.Dir, revisionsName, hex.EncodeToString(sum[:16]))
}

// Hint has the follower look as soon as it may, since somebody says that there is something new.
func (f *Follower) Hint() { f.state.Next = time.Time{} }

// Next is when to call Turn.
func (f *Follower) Next() time.Time { return f.Due(f.state.Next, f.Now()) }

// Turn looks at the source, if that is due, and takes what is new. It reports whether another revision counts. The error is about the follower's own
// records, or that of a context that has ended.
func (f *Follower) Turn(ctx context.Context) (changed bool, err error) {
	now := f.Now()
	if reason, _ := f.Closed(now); reason != "" || now.Before(f.state.Next) {
		return false, nil
	}
	found, err := f.Source.Look(ctx, f.state.Seen)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		f.fail(err)
		return false, f.save()
	}
	if found.Is(f.state.Seen) && f.state.Problem == nil {
		f.answered()
		f.state.Next = f.Options.next(f.Now(), f.Random())
		return false, f.save()
	}
	changed, err = f.take(ctx, found)
	return changed, errors.Join(err, f.save())
}

// answered notes that the source answers.
func (f *Follower) answered() {
	if !f.state.Away.IsZero() {
		f.tell(Event{Kind: Back, Text: "it was away since " + f.state.Away.UTC().Format(time.RFC3339)})
	}
	f.state.Away, f.state.AwayText, f.state.Failures, f.state.Looked = time.Time{}, "", 0, f.Now()
}

// fail notes that the source cannot be asked. That may last for weeks, and is told once.
func (f *Follower) fail(err error) {
	if f.state.Away.IsZero() {
		f.state.Away = f.Now()
		f.tell(Event{Kind: Away, Text: err.Error(), Hint: diag.HintOf(err)})
	}
	f.state.AwayText = diag.Shorten(err.Error())
	f.state.Next = f.Options.Retry(f.Now(), f.state.Failures, f.Random())
	f.state.Failures++
}

// take brings a revision, and lets it count if it can be used.
func (f *Follower) take(ctx context.Context, r Revision) (changed bool, err error) {
	before, problem := f.state.Seen, f.state.Problem
	if f.state.Failures == 0 && !before.IsZero() && !before.Is(f.state.Held) && !before.Is(r) {
		f.tell(Event{Kind: Skipped, Revision: before, Text: "there is another one"})
	}
	if !r.Is(before) {
		r.Seen, f.state.Problem = f.Now(), nil
	} else {
		r.Seen = before.Seen
	}
	f.state.Seen = r
	if r.Is(f.state.Held) { // it was put back to what counts
		f.answered()
		f.state.Problem, f.state.Next = nil, f.Options.next(f.Now(), f.Random())
		return false, nil
	}
	dir := f.folderOf(r)
	if err := os.RemoveAll(dir); err != nil {
		return false, err
	}
	fetched, err := f.Source.Fetch(ctx, r, f.former(), dir)
	if err == nil && !fetched.Same && f.Check != nil {
		err = Refuse(f.Check(ctx, dir))
	}
	switch {
	case ctx.Err() != nil:
		return false, errors.Join(ctx.Err(), os.RemoveAll(dir))
	case IsRefused(err):
		f.answered()
		f.reject(r, err)
		return false, os.RemoveAll(dir)
	case err != nil:
		f.fail(err)
		f.state.Seen, f.state.Problem = before, problem
		return false, os.RemoveAll(dir)
	}
	if !fetched.Same {
		if f.state.Digest, err = sitefiles.Digest(ctx, dir); err != nil {
			return false, errors.Join(err, os.RemoveAll(dir))
		}
	}
	f.answered()
	return !fetched.Same, f.adopt(r, fetched)
}

// former is what a revision has to come after.
func (f *Follower) former() Former {
	if f.state.Held.IsZero() {
		return Former{Revision: f.state.Lost}
	}
	return Former{f.state.Held, true}
}

// reject keeps the former revision. What keeps this one from being used may be mended elsewhere, so that it is tried with each look.
func (f *Follower) reject(r Revision, err error) {
	p := &Problem{Code: diag.CodeOf(err), Message: diag.Shorten(strings.TrimSpace(err.Error())), Hint: diag.Shorten(diag.HintOf(err)), At: f.Now()}
	if before := f.state.Problem; before == nil || before.Message != p.Message {
		f.tell(Event{Kind: Rejected, Revision: r, Text: p.Message, Hint: p.Hint})
	} else {
		p.At = before.At
	}
	f.state.Problem = p
	f.state.Next = f.Options.next(f.Now(), f.Random())
}

// adopt lets a revision count: from the record on, which comes before the former one is removed.
func (f *Follower) adopt(r Revision, fetched Fetched) error {
	f.state.Held, f.state.Lost, f.state.Fetched, f.state.Problem = r, Revision{}, fetched, nil
	f.state.Next = f.Options.next(f.Now(), f.Random())
	if err := f.save(); err != nil {
		return err
	}
	if fetched.Same {
		f.tell(Event{Kind: Advanced, Revision: r, Text: fetched.Signer})
		return nil
	}
	if err := f.place(); err != nil {
		return err
	}
	if fetched.Rewritten {
		f.tell(Event{Kind: Rewritten, Revision: r, Text: "it does not come after the one that counted before"})
	}
	f.tell(Event{Kind: Adopted, Revision: r, Text: fetched.Signer})
	return f.clean()
}

// clean removes revisions that are on the way.
func (f *Follower) clean() error {
	entries, err := os.ReadDir(filepath.Join(f.Dir, revisionsName))
	if err != nil {
		return err
	}
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(f.Dir, revisionsName, e.Name())))
	}
	return err
}

func (f *Follower) tell(e Event) {
	if f.Tell != nil {
		e.Time = f.Now()
		f.Tell(e)
	}
}

func (f *Follower) save() error {
	data, err := json.Marshal(f.state)
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(f.Dir, stateName), atomicfile.Options{Durable: true}, atomicfile.Data(data))
}
