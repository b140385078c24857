// Package follow has a server follow sources of sites: folders of its machine, and repositories of Git. What is new and right becomes a revision of the site, and is deployed.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/store"
)

// Codes of errors.
const (
	ErrInvalid  = "invalid_source"
	ErrNotFound = "not_found"
	ErrExists   = "exists"
)

// Source is a site that is followed.
type Source struct {
	Name    string         `json:"name"`
	Site    string         `json:"site"`
	Address string         `json:"address"`           // git::URL//DIR?ref=REF, or an absolute path on the server's machine
	Signers string         `json:"signers,omitempty"` // the text of a file of allowed signers; empty: nobody has to sign
	Hosts   string         `json:"hosts,omitempty"`   // a selector; empty: all of the site
	Consent deploy.Consent `json:"consent,omitempty"` // what each deployment needs
	Poll    time.Duration  `json:"poll,omitempty"`    // 0: 5 minutes
	// Windows are when it is looked at; none: always. Downtimes are when it is not, and nothing counts as failed.
	Windows   []site.Window     `json:"windows,omitempty"`
	Downtimes []source.Downtime `json:"downtimes,omitempty"`
	Secret    string            `json:"secret,omitempty"` // of hints; empty: none are taken
	By        string            `json:"by"`
	At        time.Time         `json:"at"`
}

// Status is how a source stands.
type Status struct {
	Source
	State      source.State `json:"state"`
	Deployment int64        `json:"deployment,omitempty"` // of the revision that counts; 0: there is none yet
	// Report is what became of that revision, over all hosts.
	Report source.Report `json:"report"`
	// Closed is why it is not looked at now, and Next when it is, unless somebody has it looked at earlier.
	Closed string    `json:"closed,omitempty"`
	Next   time.Time `json:"next,omitzero"`
}

// schedule says when the source is looked at.
func (s *Source) schedule() source.Options {
	o := source.Options{Poll: s.Poll, Downtimes: s.Downtimes}
	if len(s.Windows) > 0 {
		o.Windows = site.Schedule{s.Windows}
	}
	return o
}

// Deployments brings revisions of sites to hosts; a *deploy.Service.
type Deployments interface {
	Upload(ctx context.Context, by *access.Caller, site string, archive io.Reader, message string) (*deploy.Revision, error)
	Create(ctx context.Context, by *access.Caller, q deploy.Request) (*deploy.Deployment, error)
	// Outcome tells what became of a deployment; nil: there is none of that number any more.
	Outcome(ctx context.Context, id int64) (*deploy.Outcome, error)
	// SignedOf gives the newest deployment of a site, if it brings this revision as it was signed elsewhere; 0: it does not.
	SignedOf(ctx context.Context, site string, number int64) (id int64, err error)
}

// Options are what sources need.
type Options struct {
	Store       *store.Store
	Dir         string // of the server, which is its own
	Credentials string // a directory of the server's admin: HOST.token or HOST.helper (a program), HOST.pem (certificates of authorities), HOST.key and known_hosts, for repositories of that host; empty: there is none
	Deployments Deployments
	Clock       func() time.Time // nil: time.Now
	// Changed is told of each transition of a revision, once it is kept; nil: nobody is.
	Changed func(site, name string, r source.Report)
}

// Service follows the sources of a server.
type Service struct {
	Options
	poke  chan struct{}
	pokes atomic.Int64 // how often somebody has

	mu        sync.Mutex
	followers map[string]*follower
	swept     bool // what former processes have left of removed sources is
}

// New makes the service. Run has it follow.
func New(o Options) *Service {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Service{Options: o, poke: make(chan struct{}, 1), followers: map[string]*follower{}}
}

// Limits of what describes a source.
const (
	maxSigners = 1 << 20
	maxWindows = 100
	maxReason  = 200
)

// check says why something can be no source.
func (s *Source) check() error {
	wrong := func(hint, format string, args ...any) error {
		return &diag.HintError{Code: ErrInvalid, Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	if _, err := access.ParseSelector(orAll(s.Hosts)); err != nil {
		return err
	}
	switch {
	case !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`).MatchString(s.Name) || len(s.Name) > 60:
		return wrong("letters, digits, - and _, 60 at most", "%.80q is no name of a source", s.Name)
	case s.Site == "" || len(s.Site) > 200:
		return wrong("name the site", "the source names no site")
	case !slices.Contains([]deploy.Consent{deploy.NoConsent, deploy.Start, deploy.Approval}, s.Consent):
		return wrong("start or approve", "%q is no consent", s.Consent)
	case s.Poll < 0 || s.Poll > 0 && s.Poll < 10*time.Second:
		return wrong("10s or more", "a source is not asked each %v", s.Poll)
	case len(s.Windows) > maxWindows || len(s.Downtimes) > source.MaxDowntimes:
		return wrong("", "a source has %d windows and %d downtimes at most", maxWindows, source.MaxDowntimes)
	case slices.ContainsFunc(s.Downtimes, func(d source.Downtime) bool { return !d.From.Before(d.To) || len(d.Reason) > maxReason }):
		return wrong("", "a downtime is from one instant to a later one, with a reason of %d bytes at most", maxReason)
	case len(s.Signers) > maxSigners:
		return wrong("", "a file of signers has %d bytes at most", maxSigners)
	}
	_, err := s.open("", "", "")
	return err
}

func orAll(selector string) string {
	if selector == "" {
		return access.All
	}
	return selector
}

// Add has the server follow a source from now on. It lets the server reach out, read its own machine and deploy by itself: who asks for it has to be an
// admin, and to have the right to deploy to all these hosts.
func (s *Service) Add(ctx context.Context, by *access.Caller, of Source, reason string) error {
	if err := by.DemandEverywhere(access.Admin); err != nil {
		return err
	}
	if !by.MayEverywhere(access.Deploy) {
		return by.DemandEverywhere(access.Deploy)
	}
	if err := of.check(); err != nil {
		return err
	}
	of.By, of.At = by.Name, s.Clock().UTC()
	err := s.Store.Write(ctx, func(tx store.Tx) error {
		list, err := rows(tx)
		if err != nil {
			return err
		}
		if find(list, of.Name) != nil {
			return &diag.HintError{Code: ErrExists, Message: fmt.Sprintf("there is a source %q", of.Name), Hint: "remove it first, or take another name"}
		}
		if i := slices.IndexFunc(list, func(r *row) bool { return r.Site == of.Site }); i >= 0 {
			return hasSource(of.Site, list[i].Name)
		}
		if err := (&row{Source: of}).save(tx); err != nil {
			return err
		}
		return access.Audit(tx, access.Entry{At: of.At, Actor: by.Name, Action: "source.add", Site: of.Site, Reason: reason, Detail: map[string]string{"source": of.Name, "address": of.Address}})
	})
	s.Poke()
	return err
}

// Remove has the server follow a source no more. What was deployed stays.
func (s *Service) Remove(ctx context.Context, by *access.Caller, name, reason string) error {
	if err := by.DemandEverywhere(access.Admin); err != nil {
		return err
	}
	err := s.Store.Write(ctx, func(tx store.Tx) error {
		list, err := rows(tx)
		if err != nil {
			return err
		}
		of := find(list, name)
		if of == nil {
			return notFound(name)
		}
		if _, err := tx.Exec(`DELETE FROM follow_sources WHERE name = $1`, name); err != nil {
			return err
		}
		return access.Audit(tx, access.Entry{At: s.Clock().UTC(), Actor: by.Name, Action: "source.remove", Site: of.Site, Reason: reason, Detail: map[string]string{"source": name}})
	})
	s.Poke()
	return err
}

// hasSource refuses a second source of a site.
func hasSource(site, source string) error {
	return &diag.HintError{Code: ErrExists, Message: fmt.Sprintf("the site %.100q has the source %q already, and two of them would undo what the other one does", site, source), Hint: "remove one of them: tenet server source remove"}
}

func notFound(name string) error {
	return &diag.HintError{Code: ErrNotFound, Message: fmt.Sprintf("there is no source %.80q", name), Hint: "tenet server source list shows those that there are"}
}

// List tells how the sources stand whose sites the caller may read, by name. Secrets are not among it.
func (s *Service) List(ctx context.Context, by *access.Caller) (out []Status, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		list, err := rows(r)
		for _, of := range list {
			if !by.MaySite(access.Read, of.Site) {
				continue
			}
			one := Status{Source: of.Source, State: of.State}
			one.Secret = ""
			schedule, now := of.schedule(), s.Clock()
			one.Closed, _ = schedule.Closed(now)
			one.Next = schedule.Due(of.State.Next, now)
			if one.Report = of.report(); of.Revision == of.State.Held.ID {
				one.Deployment = of.Deployment
			}
			if of.ReportOf != 0 && !by.MaySiteEverywhere(access.Read, of.Site) {
				one.Report = withoutHosts(one.Report)
			}
			out = append(out, one)
		}
		return err
	})
	return out, err
}

// Get tells how one source stands, likewise.
func (s *Service) Get(ctx context.Context, by *access.Caller, name string) (*Status, error) {
	list, err := s.List(ctx, by)
	for i := range list {
		if list[i].Name == name {
			return &list[i], nil
		}
	}
	if err == nil {
		err = notFound(name)
	}
	return nil, err
}

// Look has a source looked at as soon as it may be.
func (s *Service) Look(ctx context.Context, by *access.Caller, name string) error {
	of, err := s.one(ctx, name)
	if err != nil {
		return err
	}
	if !by.MaySite(access.Deploy, of.Site) {
		return by.Demand(access.Deploy, access.Target{}, of.Site)
	}
	s.hint(name)
	return nil
}

// Hint has a source looked at, if isRight says so of its secret. Whether there is such a source, who does not know that is not told.
func (s *Service) Hint(ctx context.Context, name string, isRight func(secret string) bool) error {
	of, err := s.one(ctx, name)
	if diag.CodeOf(err) != ErrNotFound && err != nil {
		return err
	}
	if err != nil || of.Secret == "" || !isRight(of.Secret) {
		return &diag.HintError{Code: access.CodeUnknown, Message: "the hint is not signed by the secret of a source", Hint: "tenet server source add --hints shows a secret"}
	}
	s.hint(name)
	return nil
}

func (s *Service) one(ctx context.Context, name string) (of *row, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		list, err := rows(r)
		if err != nil {
			return err
		}
		if of = find(list, name); of == nil {
			return notFound(name)
		}
		return nil
	})
	return of, err
}

// hint has a follower look.
func (s *Service) hint(name string) {
	s.mu.Lock()
	if f := s.followers[name]; f != nil {
		f.hinted.Store(true)
	}
	s.mu.Unlock()
	s.Poke()
}

// Poke has the service look now what is due, and what became of what is deployed.
func (s *Service) Poke() {
	s.pokes.Add(1)
	select {
	case s.poke <- struct{}{}:
	default: // it is about to
	}
}

// lookEvery is how often it is looked what is due.
const lookEvery = 5 * time.Second

// Run follows the sources until ctx ends. What goes wrong with the server itself is given to failed.
func (s *Service) Run(ctx context.Context, failed func(error)) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := s.turn(ctx, failed); err != nil && ctx.Err() == nil {
			failed(fmt.Errorf("sources: %w", err))
		}
		select {
		case <-ctx.Done():
			s.wait()
			return
		case <-ticker.C:
		case <-s.poke:
		}
	}
}

// turn begins what is due, each source by itself: one that hangs holds up no other. What goes wrong with the server itself is given to failed.
func (s *Service) turn(ctx context.Context, failed func(error)) error {
	var list []*row
	err := s.Store.Read(ctx, func(r store.Reader) (err error) {
		list, err = rows(r)
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.swept {
		err = s.sweep(list)
		s.swept = err == nil
	}
	for name, f := range s.followers {
		if of := find(list, name); (of == nil || !of.At.Equal(f.row.At)) && !f.busy.Load() {
			delete(s.followers, name)
			err = errors.Join(err, os.RemoveAll(f.dir))
		}
	}
	for _, of := range list {
		f := s.followers[of.Name]
		if f == nil {
			f = &follower{service: s, row: of, dir: filepath.Join(s.Dir, "sources", of.Name)}
			s.followers[of.Name] = f
		}
		if f.busy.CompareAndSwap(false, true) {
			f.done, f.rival = make(chan struct{}), rival(list, of)
			fault.Go(func() {
				defer close(f.done)
				defer f.busy.Store(false)
				f.turn(ctx, failed)
			})
		}
	}
	return err
}

// wait waits for what was begun.
func (s *Service) wait() {
	s.mu.Lock()
	var all []chan struct{}
	for _, f := range s.followers {
		if f.done != nil {
			all = append(all, f.done)
		}
	}
	s.mu.Unlock()
	for _, done := range all {
		<-done
	}
}
