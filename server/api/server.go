package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
)

// ServerStatus is how the server itself stands.
type ServerStatus struct {
	Version    string       `json:"version"`
	Term       uint64       `json:"term" doc:"Grows with each start of the active server."`
	Standby    bool         `json:"standby" doc:"Another server is the active one: this one serves reading, from what that one has kept."`
	Recovering bool         `json:"recovering" doc:"It was restored from a backup, or taken back in time: nothing is delivered until a person has decided."`
	Broker     BrokerStatus `json:"broker"`
	Limits     ServerLimits `json:"limits"`
	// Unknown are hosts that hold something which the server does not know.
	Unknown []UnknownHost `json:"unknown" nullable:"false" doc:"Hosts that hold something that the server does not know."`
}

// ServerLimits is how much room there is, and what is kept for how long.
type ServerLimits struct {
	Free   *float64 `json:"free,omitempty" doc:"Which share of the room of the store is free, from 0 to 1; none: it is not known."`
	Reason string   `json:"reason,omitempty" doc:"Why it is not known: then nothing is taken in, either."`
	// Least is the share below which nothing is taken in.
	Least     float64 `json:"least" doc:"Below this share nothing is taken in from hosts, and no deployment begins."`
	Revisions int     `json:"revisions" doc:"How many revisions of a site are kept besides those in use."`
	RunDays   int     `json:"run_days" doc:"How many days what runs did is kept."`
}

// BrokerStatus is how agents are reached.
type BrokerStatus struct {
	Kind      string `json:"kind" enum:"embedded,cluster" doc:"The broker within the server, or a cluster of NATS."`
	Connected bool   `json:"connected"`
	Reason    string `json:"reason,omitempty" doc:"Why it is not connected."`
}

// UnknownHost is a host that holds something which the server does not know.
type UnknownHost struct {
	ID    trust.ID `json:"id"`
	Name  string   `json:"name"`
	Sites []string `json:"sites" nullable:"false"`
}

type serverOutput struct{ Body ServerStatus }

type resumeInput struct {
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

func (a *API) registerServer() {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "server", Scope: Everywhere, Verb: access.Admin, Summary: summary, Description: description,
			Codes: []string{access.CodeForbidden, sessions.CodeAway}}
	}
	Register(a, op("show-server", http.MethodGet, "/v1/server", "Tell how the server stands.", "Whether it recovers from a backup, and which hosts hold something that it does not know."),
		func(_ context.Context, _ *access.Caller, _ *struct{}) (*serverOutput, error) { return a.serverStatus() })
	Register(a, op("resume-server", http.MethodPost, "/v1/server/resume", "Have a restored server go on.",
		"From then on it delivers again, by numbers that come after all that hosts have shown. What hosts hold that it does not know stays there until something is deployed to them."), a.resumeServer)
}

func (a *API) serverStatus() (*serverOutput, error) {
	if a.o.Sessions == nil {
		return nil, &diag.HintError{Code: sessions.CodeAway, Message: "this server reaches no hosts"}
	}
	out := &serverOutput{ServerStatus{Version: a.o.Version, Term: a.o.Sessions.Term, Standby: a.o.Standby, Recovering: a.o.Sessions.Recovering(), Broker: a.brokerStatus(), Limits: a.limits(), Unknown: []UnknownHost{}}}
	for id, sites := range a.o.Sessions.Unknown() {
		_, target, _ := a.o.Hosts.State(id)
		out.Body.Unknown = append(out.Body.Unknown, UnknownHost{id, target.Name, sites})
	}
	slices.SortFunc(out.Body.Unknown, func(x, y UnknownHost) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(string(x.ID), string(y.ID)))
	})
	return out, nil
}

func (a *API) limits() ServerLimits {
	l := ServerLimits{Least: a.o.Room.Least, Revisions: deploy.Keep, RunDays: int(a.o.Room.KeepRuns / (24 * time.Hour))}
	if a.o.Room.Free == nil {
		return l
	}
	share, known, err := a.o.Room.Free()
	switch {
	case err != nil:
		l.Reason = err.Error()
	case known:
		l.Free = &share
	}
	return l
}

// IsFull tells whether there is so little room that nothing is taken in.
func (l *ServerLimits) IsFull() bool { return l.Reason != "" || l.Free != nil && *l.Free < l.Least }

func (a *API) brokerStatus() BrokerStatus {
	s := BrokerStatus{Kind: "embedded", Connected: true}
	if a.o.IsCluster {
		s.Kind = "cluster"
	}
	if a.o.Broker == nil {
		return s
	}
	if err := a.o.Broker(); err != nil {
		s.Connected, s.Reason = false, err.Error()
	}
	return s
}

func (a *API) resumeServer(ctx context.Context, c *access.Caller, in *resumeInput) (*serverOutput, error) {
	if out, err := a.serverStatus(); err != nil || !out.Body.Recovering {
		return out, err
	}
	var done func()
	err := a.o.People.Store().Write(ctx, func(tx store.Tx) (err error) {
		if done, err = a.o.Sessions.Resume(tx); err != nil {
			return err
		}
		return access.Audit(tx, access.Entry{Actor: c.Name, Action: "server.resume", Reason: in.Body.Reason})
	})
	if err != nil {
		return nil, err
	}
	done()
	return a.serverStatus()
}
