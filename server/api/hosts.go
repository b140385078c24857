package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/enroll"
)

// HostName is the input of all that is about one host.
type HostName struct {
	ID string `path:"id" maxLength:"200" doc:"The id of the host, or its name."`
}

type hostOutput struct{ Body *enroll.Host }

// hostAct is an act on a host that takes nothing but a reason.
type hostAct struct {
	HostName
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type hostsInput struct {
	Page
	State  []string        `query:"state" maxItems:"5" enum:"pending,approved,active,locked,revoked" doc:"Only those in one of these states."`
	Prefix string          `query:"prefix" maxLength:"200" doc:"Only those whose name begins so."`
	Select access.Selector `query:"select" maxLength:"4096" doc:"Only those that a selector names, such as web*,role=db,!web3."`
	StatusFilter
	Count    bool `query:"count" doc:"Tell in total how many hosts there are in all pages."`
	Question bool `query:"question" doc:"Only those about which a person is to decide, since copies of many were noticed at once."`
}

type approveInput struct {
	HostName
	Body struct {
		Name    string             `json:"name,omitempty" maxLength:"200" doc:"In place of the name that it asks for."`
		Labels  *map[string]string `json:"labels,omitempty" doc:"In place of the labels that it claims."`
		Replace bool               `json:"replace,omitempty" doc:"Revoke the host that has the name."`
		Reason  string             `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type renameInput struct {
	HostName
	Body struct {
		Name   string `json:"name" maxLength:"200"`
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type labelsInput struct {
	HostName
	Body struct {
		Labels map[string]string `json:"labels" nullable:"false" doc:"All that the host has from then on."`
		Reason string            `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type settleInput struct {
	Body struct {
		Hosts  []trust.ID `json:"hosts" minItems:"1" maxItems:"1000" nullable:"false"`
		Accept bool       `json:"accept" doc:"They are the right ones, and what each says next counts; else they are locked."`
		Reason string     `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

func (a *API) registerHosts() {
	codes := []string{access.CodeNotFound, access.CodeForbidden, access.CodeInvalid, enroll.CodeState}
	op := func(id, method, path, summary, description string, codes []string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "hosts", Summary: summary, Description: description, Scope: Somewhere, Verb: access.Enroll, Codes: codes}
	}
	list := op("list-hosts", http.MethodGet, "/v1/hosts", "List hosts.",
		"By name, those that the caller may read, and how they stand. One that is pending stands under the name for which it asks, with the host that it would replace.", []string{access.CodeForbidden, codeCursor})
	show := op("show-host", http.MethodGet, "/v1/hosts/{id}", "Show a host.", "One that the caller may not read is answered as one that is not there.", codes[:1])
	list.Verb, show.Verb = access.Read, access.Read
	Register(a, list, a.listHosts)
	Register(a, show, func(ctx context.Context, c *access.Caller, in *HostName) (*hostOutput, error) {
		h, err := a.host(ctx, c, access.Read, in.ID)
		return &hostOutput{h}, err
	})
	Register(a, op("approve-host", http.MethodPost, "/v1/hosts/{id}/approve", "Take a host in that is pending.",
		"Grants match it from then on by this name and these labels. A name that another host has is taken from it on purpose alone.", append(codes, enroll.CodeNameTaken)),
		func(ctx context.Context, c *access.Caller, in *approveInput) (*hostOutput, error) {
			approval := enroll.Approval{Name: in.Body.Name, Replace: in.Body.Replace}
			if in.Body.Labels != nil {
				if approval.Labels = *in.Body.Labels; approval.Labels == nil {
					approval.Labels = map[string]string{}
				}
			}
			return a.change(ctx, c, in.ID, in.Body.Reason, func(by enroll.By, id trust.ID) (*enroll.Host, error) { return a.o.Hosts.Approve(ctx, by, id, approval) })
		})
	Register(a, op("rename-host", http.MethodPost, "/v1/hosts/{id}/rename", "Call a host otherwise.", "The caller must be allowed to enrol it under both names.", append(codes, enroll.CodeNameTaken)),
		func(ctx context.Context, c *access.Caller, in *renameInput) (*hostOutput, error) {
			return a.change(ctx, c, in.ID, in.Body.Reason, func(by enroll.By, id trust.ID) (*enroll.Host, error) {
				return a.o.Hosts.Rename(ctx, by, id, in.Body.Name)
			})
		})
	Register(a, op("label-host", http.MethodPut, "/v1/hosts/{id}/labels", "Give a host labels.", "In place of all that it has. The caller must be allowed to enrol it with both.", codes),
		func(ctx context.Context, c *access.Caller, in *labelsInput) (*hostOutput, error) {
			return a.change(ctx, c, in.ID, in.Body.Reason, func(by enroll.By, id trust.ID) (*enroll.Host, error) {
				return a.o.Hosts.Label(ctx, by, id, in.Body.Labels)
			})
		})
	Register(a, op("settle-hosts", http.MethodPost, "/v1/hosts/settle", "Decide on hosts of which copies were noticed.",
		"Where copies of many hosts are noticed within a short time, as after a restored snapshot, none is locked: a person says whether they are the right ones. Answers those on which it was decided.", codes),
		a.settleHosts)
	Register(a, op("reject-hosts", http.MethodPost, "/v1/hosts/reject", "Refuse all hosts that are pending, and have asked by a token or for what a selector names.",
		"Those that the caller may not enrol are left, and not told of. Of what is left out all are meant, but one of both is to be said. Answers how many were refused.", codes), a.rejectHosts)
	for _, act := range []struct {
		name, summary, description string
		do                         func(context.Context, enroll.By, trust.ID) (*enroll.Host, error)
	}{
		{"reject", "Refuse a host that is pending.", "It stays known, so that nobody is asked about it again.", a.o.Hosts.Reject},
		{"lock", "Lock a host.", "It gets nothing new, keeps what it has, and reports.", a.o.Hosts.Lock},
		{"unlock", "Unlock a host.", "Where a copy of it was noticed, whichever renews first is the host from then on.", a.o.Hosts.Unlock},
		{"revoke", "Revoke a host for good.", "Its identity is never taken in again, and its name is free. Some time after that it is forgotten.", a.o.Hosts.Revoke},
		{"forget", "Forget a host that was revoked or rejected.", "All that is kept of it goes, but for the audit, what became of it in deployments, and the digest of its key, which is never taken in again. Name it by its id. Answers it as it was.", a.o.Hosts.Forget},
	} {
		Register(a, op(act.name+"-host", http.MethodPost, "/v1/hosts/{id}/"+act.name, act.summary, act.description, codes),
			func(ctx context.Context, c *access.Caller, in *hostAct) (*hostOutput, error) {
				return a.change(ctx, c, in.ID, in.Body.Reason, func(by enroll.By, id trust.ID) (*enroll.Host, error) { return act.do(ctx, by, id) })
			})
	}
}

// demandHosts refuses what is about hosts where the server has none.
func (a *API) demandHosts() error {
	if a.o.Hosts == nil {
		return &diag.HintError{Code: access.CodeNotSupported, Message: "this server takes no hosts in", Hint: "start it with its address"}
	}
	return nil
}

// HostList is a page of the list of hosts.
type HostList struct {
	List[ListedHost]
	Total *int `json:"total,omitempty" doc:"Where it was asked for: how many hosts there are in all pages."`
}

type hostsOutput struct{ Body HostList }

func (a *API) listHosts(ctx context.Context, c *access.Caller, in *hostsInput) (*hostsOutput, error) {
	if err := a.demandHosts(); err != nil {
		return nil, err
	}
	f := enroll.Filter{Prefix: in.Prefix, Question: in.Question, Limit: in.Limit + 1, Fits: selectReadable(c, in.Select), FitsHost: a.fitting(c, &in.StatusFilter)}
	for _, s := range in.State {
		f.States = append(f.States, enroll.State(s))
	}
	name := fmt.Sprintf("list-hosts %q %q %q %v %s", in.State, in.Prefix, in.Select.String(), in.Question, in.StatusFilter.name())
	if _, err := a.ReadCursor(c, name, in.Cursor, &f.After); err != nil {
		return nil, err
	}
	hosts, total, err := a.listAndCount(ctx, f, in.Count)
	if err != nil {
		return nil, err
	}
	page, err := NewPage(a, c, name, in.Limit, a.withStatus(c, hosts), func(h ListedHost) any { return enroll.Position{Name: h.Name, ID: h.ID} })
	if err != nil {
		return nil, err
	}
	return &hostsOutput{HostList{page.Body, total}}, nil
}

// listAndCount lists hosts, and tells how many there are in all pages if that is asked for.
func (a *API) listAndCount(ctx context.Context, f enroll.Filter, counts bool) ([]*enroll.Host, *int, error) {
	if !counts {
		list, err := a.o.Hosts.List(ctx, f)
		return list, nil, err
	}
	list, total, err := a.o.Hosts.ListAndCount(ctx, f)
	return list, &total, err
}

// hideReplaced leaves out whom a host would replace, where the caller may not read it: it has the same name, and may have other labels.
func hideReplaced(c *access.Caller, h *enroll.Host) {
	if h.Replaces != nil && !c.May(access.Read, h.Replaces.Target(), "") {
		h.Replaces = nil
	}
}

// host gives a host that the caller may read, by its id or its name. Whether there is one that the caller may not read is not told.
func (a *API) host(ctx context.Context, c *access.Caller, verb access.Verb, name string) (*enroll.Host, error) {
	if err := a.demandHosts(); err != nil {
		return nil, err
	}
	h, err := a.find(ctx, name)
	if err != nil && diag.CodeOf(err) != enroll.CodeNotFound {
		return nil, err
	}
	if err != nil || !c.May(access.Read, h.Target(), "") && !c.May(verb, h.Target(), "") {
		return nil, &diag.HintError{Code: access.CodeNotFound, Message: fmt.Sprintf("there is no host %.80q, or none that you may see", name), Hint: "list the hosts"}
	}
	hideReplaced(c, h)
	return h, nil
}

func (a *API) find(ctx context.Context, name string) (*enroll.Host, error) {
	if id := trust.ID(name); id.Check() == nil {
		return a.o.Hosts.Get(ctx, id)
	}
	return a.o.Hosts.Named(ctx, name)
}

// change has the caller change a host, as far as grants to enrol say.
func (a *API) change(ctx context.Context, c *access.Caller, name, reason string, act func(enroll.By, trust.ID) (*enroll.Host, error)) (*hostOutput, error) {
	h, err := a.host(ctx, c, access.Enroll, name)
	if err != nil {
		return nil, err
	}
	h, err = act(enrolledBy(c, reason), h.ID)
	return &hostOutput{h}, err
}

func enrolledBy(c *access.Caller, reason string) enroll.By {
	return enroll.By{Actor: c.Name, Reason: reason, Allow: func(t access.Target) error { return c.Demand(access.Enroll, t, "") }}
}

type rejectInput struct {
	Body struct {
		Token  string          `json:"token,omitempty" maxLength:"200" doc:"The id of the token by which they have asked."`
		Select access.Selector `json:"select" required:"false" maxLength:"4096" doc:"What names them, by the names and labels for which they ask."`
		Reason string          `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type rejectOutput struct {
	Body struct {
		Rejected int `json:"rejected"`
	}
}

func (a *API) rejectHosts(ctx context.Context, c *access.Caller, in *rejectInput) (*rejectOutput, error) {
	if err := a.demandHosts(); err != nil {
		return nil, err
	}
	of, out := &in.Body, &rejectOutput{}
	isSelector := of.Select.String() != ""
	if of.Token == "" && !isSelector {
		return nil, &diag.HintError{Code: access.CodeInvalid, Message: "it is not said which hosts are meant", Hint: "give the id of a token, or a selector; * is all"}
	}
	var fits func(access.Target) bool
	if isSelector {
		fits = of.Select.Matches
	}
	n, err := a.o.Hosts.RejectAll(ctx, enrolledBy(c, of.Reason), of.Token, fits)
	out.Body.Rejected = n
	return out, err
}

func (a *API) settleHosts(ctx context.Context, c *access.Caller, in *settleInput) (*ListOutput[*enroll.Host], error) {
	if err := a.demandHosts(); err != nil {
		return nil, err
	}
	settled, err := a.o.Hosts.Settle(ctx, enrolledBy(c, in.Body.Reason), in.Body.Accept, in.Body.Hosts...)
	if settled == nil {
		settled = []*enroll.Host{}
	}
	return &ListOutput[*enroll.Host]{List[*enroll.Host]{Items: settled}}, err
}
