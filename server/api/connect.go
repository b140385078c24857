package api

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
)

// ConnectionSession is the header in which the answer names the connection.
const ConnectionSession = "Tenet-Session"

func (a *API) registerConnect() {
	id := &huma.Param{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}, Description: "The id of the host, or its name."}
	a.registerRaw(Operation{ID: "connect-host", Method: http.MethodGet, Path: "/v1/hosts/{id}/connection", Tag: "hosts", Scope: Somewhere, Verb: access.Read, Limit: -1,
		Summary:     "Open a connection to a host.",
		Description: "A WebSocket that carries the packets of one connection to the host's agent. Each request on it is allowed, or refused, by what it asks for, and signed by the server; all else is encrypted between the caller and the host.",
		Codes:       []string{access.CodeNotFound, access.CodeForbidden, sessions.CodeAway, access.CodeTooMany}}, "application/octet-stream", []*huma.Param{id}, a.connect)
}

// connect passes packets between an operator and a host.
func (a *API) connect(w http.ResponseWriter, r *http.Request) {
	ctx, caller := r.Context(), callerOf(r.Context())
	h, err := a.host(ctx, caller, access.Read, r.PathValue("id"))
	if err != nil {
		a.problem(err).write(w)
		return
	}
	if a.o.Sessions == nil {
		a.problem(&diag.HintError{Code: sessions.CodeAway, Message: "this server reaches no hosts"}).write(w)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &passing{api: a, ctx: ctx, cancel: cancel, caller: caller, secret: secretOf(ctx), host: h, look: make(chan struct{}, 1), verbs: map[access.Verb]bool{access.Read: true}}
	if err := a.connections.join(p); err != nil {
		a.problem(err).write(w)
		return
	}
	defer a.connections.leave(p)
	way, session, err := a.o.Sessions.Relay(ctx, h.ID, p.sign)
	if err != nil {
		a.problem(err).write(w)
		return
	}
	defer way.Close()
	w.Header().Set(ConnectionSession, session)
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // who called was told
	}
	defer socket.CloseNow()
	socket.SetReadLimit(link.MaxPacket)
	p.socket, p.way = socket, way
	p.pass()
}

// verbsOf is what a request takes: all of it.
func verbsOf(d *channel.Demand) []access.Verb {
	if d.Request == nil {
		return []access.Verb{access.Read}
	}
	switch d.Request.Op {
	case wire.OpPing, wire.OpStatus, wire.OpHistory, wire.OpLogs, wire.OpManaged:
		return []access.Verb{access.Read}
	case wire.OpPlan:
		return []access.Verb{access.Plan}
	case wire.OpImport:
		if d.Request.Import != nil && len(d.Request.Import.Modules) == 0 {
			return []access.Verb{access.Import}
		}
		return []access.Verb{access.Import, access.Plan} // modules that are brought along may do anything, as in a plan
	case wire.OpApply, wire.OpResume, wire.OpCancel, wire.OpHold, wire.OpRelease, wire.OpForget, wire.OpClean, wire.OpRetry, wire.OpMember,
		wire.OpAttach: // who follows a run may end it
		return []access.Verb{access.Deploy}
	case wire.OpExec:
		return []access.Verb{access.Exec}
	}
	return []access.Verb{access.Admin} // what is not known here
}

// passing is one connection that is passed on.
type passing struct {
	api    *API
	ctx    context.Context
	cancel context.CancelFunc
	caller *access.Caller // as they were when it began
	secret string
	host   *enroll.Host // likewise
	within string       // the site that alone is asked about; empty: rights are for all sites
	reason string       // for the audit; a request may have its own
	socket *websocket.Conn
	way    channel.Transport
	look   chan struct{} // the host has changed
	once   sync.Once

	mu    sync.Mutex
	site  string               // for which it was opened, as the caller says
	verbs map[access.Verb]bool // that what goes on over it takes
}

// now gives the caller and the host as they are now, and refuses what is not allowed any more.
func (p *passing) now(ctx context.Context, verbs ...access.Verb) (*access.Caller, error) {
	caller, err := p.api.o.People.Authenticate(ctx, p.secret)
	if err != nil {
		return nil, err
	}
	_, target, known := p.api.o.Hosts.State(p.host.ID)
	for _, verb := range verbs {
		if !known || !caller.May(verb, target, p.within) {
			return nil, &diag.HintError{Code: access.CodeForbidden, Message: "this takes the grant \"" + string(verb) + "\" for " + p.host.Name + " and " + cmp.Or(p.within, "all sites"), Hint: "somebody who administers the server can give it to you"}
		}
	}
	return caller, nil
}

// sign decides on a request: what the caller may do counts when it is made, and for as long as it goes on.
func (p *passing) sign(ctx context.Context, d *channel.Demand) (*trust.Signed, error) {
	verbs := verbsOf(d)
	caller, err := p.now(ctx, verbs...)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	for _, verb := range verbs {
		p.verbs[verb] = true
	}
	if d.Opening != nil {
		p.site = d.Opening.Site
	}
	site := p.site
	p.mu.Unlock()
	if d.Request != nil && !slices.Contains(verbs, access.Read) {
		if err := p.api.auditRequest(ctx, caller, p.host, site, p.reason, d.Request); err != nil {
			return nil, err
		}
	}
	if d.Signed != nil {
		return nil, nil // the host decides whether it trusts that key
	}
	return p.api.o.Sessions.SignAs(caller.Name)(ctx, d)
}

// watch ends the connection when it is not allowed any more: as soon as somebody says so, and by looking now and then.
func (p *passing) watch(done <-chan struct{}) {
	ticker := time.NewTicker(p.api.heartbeat)
	defer ticker.Stop()
	for {
		changed := p.api.o.People.Changed()
		p.mu.Lock()
		verbs := slices.Collect(maps.Keys(p.verbs))
		p.mu.Unlock()
		if _, err := p.now(p.ctx, verbs...); err != nil {
			p.end(err)
			return
		}
		select {
		case <-done:
			return
		case <-changed:
		case <-p.look:
		case <-ticker.C:
		}
	}
}

// pass passes packets on until one side ends.
func (p *passing) pass() {
	var wait fault.Group
	done := make(chan struct{})
	wait.Go(func() { p.watch(done) })
	wait.Go(func() {
		for {
			data, err := p.way.Receive()
			if err == nil {
				err = p.socket.Write(p.ctx, websocket.MessageBinary, data)
			}
			if err != nil {
				p.end(err)
				return
			}
		}
	})
	for {
		_, data, err := p.socket.Read(p.ctx)
		if err == nil {
			err = p.way.Send(data)
		}
		if err != nil {
			p.end(err)
			break
		}
	}
	close(done)
	p.way.Close()
	wait.Wait()
}

// end ends the way to the host, and tells the operator why. The first reason counts.
func (p *passing) end(err error) {
	p.once.Do(func() {
		p.way.Close()               // first, so that nothing more gets through
		if diag.CodeOf(err) == "" { // what goes on inside is not for others
			err = &diag.HintError{Code: channel.CodeBroken, Message: "the way to the host has ended"}
		}
		const patience = 5 * time.Second
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		defer cancel()
		// Where it does not get through, the operator finds out by themselves.
		_ = p.socket.Write(ctx, websocket.MessageBinary, channel.Closing(err))
		_ = p.socket.Close(websocket.StatusNormalClosure, "")
		p.cancel() // who reads nothing is not waited for
	})
}
