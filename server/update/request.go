package update

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// Request is what somebody asks for.
type Request struct {
	Version     string
	Hosts       string   // a selector; empty: all
	Batch       []string // such as 1 and 10%; empty: one host, then a tenth, then all
	MaxFailures string   // such as 2 or 5%; empty: none
	Pause       time.Duration
	Deadline    time.Duration // 0: an hour
	Message     string
}

// Start begins an update.
func (s *Service) Start(ctx context.Context, by *access.Caller, q Request) (*Update, error) {
	if q.Hosts == "" {
		q.Hosts = access.All
	}
	selector, err := access.ParseSelector(q.Hosts)
	if err != nil {
		return nil, err
	}
	if s.IsFull != nil && s.IsFull() {
		return nil, &diag.HintError{Code: CodeFull, Message: "the server's disk is nearly full: no update begins", Hint: "make room there"}
	}
	signed, release, err := s.release(ctx, q.Version)
	if err != nil {
		return nil, err
	}
	lacking, err := s.lacking(ctx, release)
	if err != nil {
		return nil, err
	}
	if len(lacking) > 0 {
		return nil, &diag.HintError{Code: CodeLacking, Message: fmt.Sprintf("programs of the release %s are not there: %s", q.Version, titles(lacking)), Hint: "upload them: tenet release upload"}
	}
	enrolled, err := s.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	u := &Update{Version: release.Version, Release: trust.DigestOf(signed.Content), By: by.Name, At: s.now(), Message: q.Message, Selector: q.Hosts, Deadline: q.Deadline, Pause: q.Pause, Phase: Rolling}
	if u.Deadline == 0 {
		u.Deadline = time.Hour
	}
	if err := u.take(q, enrolled, selector); err != nil {
		return nil, err
	}
	err = s.Store.Write(ctx, func(tx store.Tx) error {
		newest, err := newest(tx)
		if err != nil {
			return err
		}
		if u.Number = 1; newest != nil {
			if u.Number = newest.Number + 1; newest.Phase == Rolling {
				return &diag.HintError{Code: CodeBusy, Message: fmt.Sprintf("the update %d to %s is under way", newest.Number, newest.Version), Hint: "wait for it, or end it: tenet update --abort"}
			}
		}
		if err := u.save(tx, nil); err != nil {
			return err
		}
		return access.Audit(tx, access.Entry{At: s.now(), Actor: by.Name, Action: "update.start", Reason: q.Message,
			Detail: map[string]string{"update": fmt.Sprint(u.Number), "version": u.Version, "hosts": u.Selector}})
	})
	s.reoffer()
	if err != nil {
		return nil, err
	}
	return u, nil
}

// reoffer has the next round, which begins now, look at what each host is to run.
func (s *Service) reoffer() {
	s.stale.Store(true)
	s.Poke()
}

// take takes the hosts in that a request is about.
func (u *Update) take(q Request, enrolled []Enrolled, selector access.Selector) error {
	var names []string
	isTaken := map[string]bool{}
	slices.SortStableFunc(enrolled, func(a, b Enrolled) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range enrolled {
		if e.Name != "" && selector.Matches(access.Target{Name: e.Name, Labels: e.Labels}) && (e.Locked == "" || e.Locked == "it is locked") && !isTaken[e.Name] {
			names, isTaken[e.Name] = append(names, e.Name), true
			u.Hosts = append(u.Hosts, &Host{ID: e.ID, Name: e.Name, State: rollout.Out})
		}
	}
	if len(names) == 0 {
		return &diag.HintError{Code: CodeNotFound, Message: fmt.Sprintf("there is no host that %q selects", u.Selector), Hint: "tenet host list shows hosts"}
	}
	r, err := q.rollout()
	if err == nil {
		u.Batches, err = rollout.Batches(r, 0, names)
	}
	if err != nil {
		return &diag.HintError{Code: CodeInvalid, Message: err.Error(), Hint: "batches are like 1,10%,100%"}
	}
	return nil
}

// rollout is how hosts are dealt out.
func (q *Request) rollout() (*site.Rollout, error) {
	r := &site.Rollout{}
	for _, text := range q.Batch {
		a, err := site.ParseAmount(text)
		if err != nil {
			return nil, err
		}
		r.Batch = append(r.Batch, a)
	}
	if len(r.Batch) == 0 {
		r.Batch = []site.Amount{{N: 1}, {N: 10, Percent: true}, {N: 100, Percent: true}}
	}
	if q.MaxFailures == "" {
		return r, nil
	}
	a, err := site.ParseAmount(q.MaxFailures)
	r.MaxFailures = &a
	return r, err
}

// Steer has the newest update end, or go on without the hosts of a batch that are away: "abort" or "continue".
func (s *Service) Steer(ctx context.Context, by *access.Caller, number int64, act, reason string) (u *Update, err error) {
	s.one.Lock()
	defer s.one.Unlock()
	err = s.Store.Write(ctx, func(tx store.Tx) error {
		if u, err = newest(tx); err != nil {
			return err
		}
		if u == nil || u.Number != number || u.Phase != Rolling {
			return &diag.HintError{Code: CodeNotFound, Message: fmt.Sprintf("there is no update %d that is under way", number), Hint: "tenet update --status shows the newest"}
		}
		before := u.snapshot()
		if act == "abort" {
			u.end(Aborted, "ended by "+by.Name)
		} else {
			u.Progress.Resumed = true
		}
		if err := u.save(tx, before); err != nil {
			return err
		}
		return access.Audit(tx, access.Entry{At: s.now(), Actor: by.Name, Action: "update." + act, Reason: reason, Detail: map[string]string{"update": fmt.Sprint(number)}})
	})
	s.reoffer()
	return u, err
}
