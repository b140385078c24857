package api

import (
	"context"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/states"
)

// askLimit is how long a host may take to answer.
const askLimit = 20 * time.Second

// HostNow is what a host says of itself when it is asked.
type HostNow struct {
	Hold        *journal.Hold         `json:"hold,omitempty" doc:"Why nothing is applied there until it is released."`
	Applying    string                `json:"applying,omitempty" doc:"Who applies there, if anybody does."`
	Ended       int                   `json:"ended,omitempty" doc:"How many parts of the run that goes on have ended."`
	Parts       int                   `json:"parts,omitempty" doc:"How many it has."`
	Running     []machine.Current     `json:"running,omitempty" doc:"What it does now."`
	Owed        []states.Debt         `json:"owed" nullable:"false" doc:"Handlers that were notified, and have not run yet."`
	Unknown     []states.Begun        `json:"unknown" nullable:"false" doc:"Acts that were begun, and of which nobody knows how they ended."`
	Unconfirmed []journal.Unconfirmed `json:"unconfirmed" nullable:"false" doc:"Blocks that wait for their check."`
	Damaged     []string              `json:"damaged,omitempty" doc:"What cannot be read of its records."`
	Loops       []reconcile.State     `json:"loops" nullable:"false" doc:"How it keeps its sites, as far as the caller may read them."`
}

// Pong is how a host answers.
type Pong struct {
	Program string  `json:"program" doc:"The version that answers."`
	User    string  `json:"user" doc:"Who acts there."`
	UID     int     `json:"uid"`
	OS      string  `json:"os"`
	Arch    string  `json:"arch"`
	Clock   float64 `json:"clock" doc:"By how many seconds its clock is ahead of the server's."`
	Seconds float64 `json:"seconds" doc:"How long the answer took."`
}

type (
	nowOutput  struct{ Body HostNow }
	pongOutput struct{ Body Pong }
	heldOutput struct {
		Body struct {
			Hold     *journal.Hold `json:"hold,omitempty" doc:"That has begun, or was released; none: there was none to release."`
			Applying string        `json:"applying,omitempty" doc:"Who applies there, and goes on."`
		}
	}
	loopsOutput struct{ Body List[reconcile.State] }
)

type holdInput struct {
	HostName
	Body struct {
		Reason  string `json:"reason" minLength:"1" maxLength:"1000" doc:"Why; whoever wants to apply is told."`
		Seconds int    `json:"seconds,omitempty" minimum:"0" maximum:"31536000" doc:"For how long; none: until it is released."`
	}
}

type retryInput struct {
	HostName
	Body struct {
		Site   string `json:"site,omitempty" maxLength:"200" doc:"What is kept; none: all that has come to nothing."`
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

// registerAsk is what a host is asked in the caller's name, by the way by which connections go: with the rights that those take, and the same audit.
func (a *API) registerAsk() {
	op := func(id, method, path, summary, description string, verb access.Verb) Operation {
		return Operation{ID: id, Method: method, Path: "/v1/hosts/{id}/" + path, Tag: "hosts", Scope: Somewhere, Verb: verb, Summary: summary, Description: description,
			Codes: []string{access.CodeNotFound, access.CodeForbidden, sessions.CodeAway, access.CodeTooMany}}
	}
	Register(a, op("ask-host", http.MethodGet, "now", "Ask a host how it stands.", "What is owed there, what it does, and whether applies are on hold, as the host itself says now. It waits for the answer."+allSites, access.Read), a.askHost)
	Register(a, op("ping-host", http.MethodPost, "ping", "Ask a host whether it can be used.", "It changes nothing."+allSites, access.Read), a.pingHost)
	Register(a, op("hold-host", http.MethodPost, "hold", "Hold a host: nothing is applied there until it is released.", "What is being applied goes on. Plans still work."+allSites, access.Deploy), a.holdHost)
	Register(a, op("release-host", http.MethodPost, "release", "Let things be applied on a host again.", "Answers the hold that there was."+allSites, access.Deploy), a.releaseHost)
	Register(a, op("retry-host", http.MethodPost, "retry", "Have a host try again what it has given up.", "Answers the loops that try again."+allSites, access.Deploy), a.retryHost)
}

// allSites is what connections take: a host does not tell its sites apart.
const allSites = " What changes something takes a grant for the host and all sites."

// askMachine reaches a host in the caller's name, for a bounded time. Whoever calls it calls leave at the end.
func (a *API) askMachine(ctx context.Context, c *access.Caller, name, reason string) (m *remote.Machine, bounded context.Context, leave func(), err error) {
	h, err := a.readableHost(ctx, c, name)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askLimit, errNoAnswer(askLimit))
	p := &passing{api: a, ctx: ctx, cancel: cancel, caller: c, secret: secretOf(ctx), host: h, reason: reason, look: make(chan struct{}, 1), verbs: map[access.Verb]bool{access.Read: true}}
	if err := a.connections.join(p); err != nil {
		cancel()
		return nil, nil, nil, err
	}
	dial := func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
		conn, hello, err := a.o.Sessions.Dial(ctx, h.ID, p.sign, o)
		if err == nil { // who does not answer is not waited for
			context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, hello, err
	}
	leave = func() {
		cancel()
		a.connections.leave(p)
	}
	return &remote.Machine{Name: h.Name, Dial: dial, Caller: machine.Caller{User: c.Name, From: "the server", Command: "page"}}, ctx, leave, nil
}

// askHostFor has a host answer something.
func askHostFor[T any](a *API, ctx context.Context, c *access.Caller, name, reason string, ask func(context.Context, *remote.Machine) (T, error)) (out T, err error) {
	m, bounded, leave, err := a.askMachine(ctx, c, name, reason)
	if err != nil {
		return out, err
	}
	defer leave()
	out, err = ask(bounded, m)
	return out, hostError(ctx, bounded, err)
}

func (a *API) askHost(ctx context.Context, c *access.Caller, in *HostName) (*nowOutput, error) {
	s, err := askHostFor(a, ctx, c, in.ID, "", func(ctx context.Context, m *remote.Machine) (*machine.Status, error) { return m.Status(ctx, "") })
	if err != nil {
		return nil, err
	}
	h, err := a.readableHost(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	hides := func(site string) bool { return !c.May(access.Read, h.Target(), site) }
	out := HostNow{Hold: s.Hold, Damaged: s.Damaged,
		Owed:        slices.DeleteFunc(append([]states.Debt{}, s.Owed...), func(d states.Debt) bool { return hides(d.Site) }),
		Unknown:     slices.DeleteFunc(append([]states.Begun{}, s.Unknown...), func(b states.Begun) bool { return hides(b.Site) }),
		Unconfirmed: slices.DeleteFunc(append([]journal.Unconfirmed{}, s.Unconfirmed...), func(u journal.Unconfirmed) bool { return hides(u.Site) }),
		Loops:       slices.DeleteFunc(append([]reconcile.State{}, s.Loops...), func(l reconcile.State) bool { return hides(l.Site) })}
	switch {
	case s.Applying == nil:
	case hides(access.All): // it says by whom, and of what site
		out.Applying = "something is being applied"
	default:
		out.Applying = s.Applying.Error()
	}
	if s.Progress != nil {
		out.Ended, out.Parts, out.Running = s.Progress.Ended, s.Progress.Parts, s.Progress.Now
	}
	if hides(access.All) { // these name no site
		out.Ended, out.Parts, out.Running, out.Damaged = 0, 0, nil, nil
	}
	return &nowOutput{out}, nil
}

func (a *API) pingHost(ctx context.Context, c *access.Caller, in *HostName) (*pongOutput, error) {
	begin := time.Now()
	i, err := askHostFor(a, ctx, c, in.ID, "", func(ctx context.Context, m *remote.Machine) (*machine.Identity, error) { return m.Ping(ctx) })
	if err != nil {
		return nil, err
	}
	round := func(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
	return &pongOutput{Pong{Program: i.Program, User: i.User, UID: i.UID, OS: i.OS, Arch: i.Arch, Clock: round(i.Now.Sub(i.Heard)), Seconds: round(time.Since(begin))}}, nil
}

func (a *API) holdHost(ctx context.Context, c *access.Caller, in *holdInput) (*heldOutput, error) {
	r, err := askHostFor(a, ctx, c, in.ID, "", func(ctx context.Context, m *remote.Machine) (*machine.HoldResult, error) {
		return m.Hold(ctx, machine.HoldRequest{Reason: in.Body.Reason, For: time.Duration(in.Body.Seconds) * time.Second})
	})
	if err != nil {
		return nil, err
	}
	out := &heldOutput{}
	if out.Body.Hold = r.Hold; r.Applying != nil {
		out.Body.Applying = r.Applying.Error()
	}
	return out, nil
}

func (a *API) releaseHost(ctx context.Context, c *access.Caller, in *hostAct) (*heldOutput, error) {
	was, err := askHostFor(a, ctx, c, in.ID, in.Body.Reason, func(ctx context.Context, m *remote.Machine) (*journal.Hold, error) { return m.Unhold(ctx) })
	if err != nil {
		return nil, err
	}
	out := &heldOutput{}
	out.Body.Hold = was
	return out, nil
}

func (a *API) retryHost(ctx context.Context, c *access.Caller, in *retryInput) (*loopsOutput, error) {
	loops, err := askHostFor(a, ctx, c, in.ID, in.Body.Reason, func(ctx context.Context, m *remote.Machine) ([]reconcile.State, error) {
		return m.Retry(ctx, in.Body.Site)
	})
	if err != nil {
		return nil, err
	}
	return &loopsOutput{List[reconcile.State]{Items: append([]reconcile.State{}, loops...)}}, nil
}
