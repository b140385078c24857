package enroll

import (
	"context"
	"crypto/subtle"
	"maps"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// maxPending bounds how many hosts wait for a person.
const maxPending = 10_000

// pollAgain is after how many seconds a host that is pending asks again.
const pollAgain = 15

// Join takes in what a host has sent that wants to be one, whose keys and proof were checked. What is sent again is answered again, and uses
// nothing up.
func (r *Registry) Join(ctx context.Context, request *identity.JoinRequest, keys *trust.HostKeys, source string) (*identity.Answer, error) {
	if len(request.Value) != identity.ValueSize {
		return nil, invalid("the first value of a renewal has %d bytes", identity.ValueSize)
	}
	h, err := r.recordRequest(ctx, request, keys, source)
	if err != nil {
		return nil, err
	}
	if h.State == identity.Pending && len(r.options.Hook) > 0 {
		if h, err = r.askHook(ctx, h); err != nil {
			return nil, err
		}
	}
	return r.answer(h, 0, 0)
}

// recordRequest gives the host as which somebody has asked, which is a new one if its identity is not known.
func (r *Registry) recordRequest(ctx context.Context, request *identity.JoinRequest, keys *trust.HostKeys, source string) (*Host, error) {
	id := keys.Identity.ID()
	h, err := r.Get(ctx, id) // hosts that are pending ask often, and most of them in vain
	if err == nil && !h.isOther(request.Value) {
		return h, nil
	}
	if err != nil && diag.CodeOf(err) != CodeNotFound {
		return nil, err
	}
	if h, err := r.endedBefore(ctx, id); err != nil || h != nil {
		return h, err
	}
	err = r.change(ctx, func(tx store.Tx) (changed []*Host, err error) {
		if h, err = readHost(tx, id); err != nil {
			return nil, err
		}
		switch {
		case h == nil:
			h = &Host{ID: id, State: identity.Pending, Name: request.Name, Labels: maps.Clone(request.Labels), Keys: keys, Source: source, AskedAt: r.now(),
				certificate: request.Keys, value: request.Value}
			return []*Host{h}, r.admitByToken(tx, h, request)
		case !h.isOther(request.Value):
			return nil, nil
		case h.State == identity.Pending:
			// It has begun anew, before anybody has looked at it. Whichever of two copies has asked first is noticed when it renews.
			h.value = request.Value
			return []*Host{h}, writeHost(tx, h)
		default:
			return r.noticeCopy(tx, h)
		}
	})
	return h, err
}

// isOther tells whether somebody who asks to join is not the one who has asked before, though it has the same identity.
func (h *Host) isOther(value []byte) bool {
	return h.State != identity.Revoked && !same(h.value, value) && !same(h.former, value)
}

func same(a, b []byte) bool { return len(a) > 0 && subtle.ConstantTimeCompare(a, b) == 1 }

// admitByToken keeps a new host, as its token says.
func (r *Registry) admitByToken(tx store.Tx, h *Host, request *identity.JoinRequest) error {
	if err := checkName(h.Name); err != nil {
		return err
	}
	if err := checkLabels(h.Labels); err != nil {
		return err
	}
	h.Token = tokenID(&trust.Token{Secret: request.Secret})
	t, err := readToken(tx, h.Token)
	if err != nil {
		return err
	}
	if err := t.use(tx, h, r.now()); err != nil {
		return err
	}
	holder, err := readHolder(tx, h.Name)
	if err != nil {
		return err
	}
	switch {
	case holder != nil:
		h.Reason = "its name belongs to another host: a person compares the two"
	case t.Auto:
		by := By{Actor: server}
		if _, err := r.admit(tx, by, h, Approval{}); err != nil {
			return err
		}
		if err := by.audit(tx, r.now(), "host.approve", h.ID, map[string]string{"name": h.Name, "token": t.ID, "token_of": t.MadeBy}); err != nil {
			return err
		}
	default:
		h.Reason = "a person has yet to approve it"
	}
	if h.State == identity.Pending {
		if err := h.noteFormer(tx); err != nil {
			return err
		}
		var pending int64
		if _, err := store.One(tx, `SELECT COUNT(*) FROM enroll_hosts WHERE state = 'pending'`, nil, &pending); err != nil {
			return err
		}
		if pending >= maxPending {
			return &diag.HintError{Code: CodeTooMany, Message: "too many hosts wait to be approved", Hint: "approve or reject those that wait: tenet host reject --token ID, or --select SELECTOR"}
		}
	}
	return writeHost(tx, h)
}

// answer says how a host stands, and what it is to know. Documents are those after a generation and a number.
func (r *Registry) answer(h *Host, generation, number uint64) (*identity.Answer, error) {
	a := &identity.Answer{State: h.State, Reason: h.Reason}
	if h.State == identity.Revoked {
		return a, nil
	}
	a.Documents = r.authority.Chain().After(generation, number)
	if h.State == identity.Pending {
		a.RetryAfter = pollAgain
		return a, nil
	}
	a.Name, a.Labels, a.Addresses = h.Name, h.Labels, r.options.Addresses
	if r.options.Brokers != nil {
		a.Brokers, a.BrokerAuthorities = r.options.Brokers(), r.options.BrokerAuthorities
	}
	if r.options.Credential != nil && !h.Question {
		var err error
		if a.Credential, err = r.options.Credential(h.ID, h.Keys.Connection); err != nil {
			return nil, err
		}
	}
	a.RetryAfter = int(identity.RenewEvery / time.Second)
	return a, nil
}
