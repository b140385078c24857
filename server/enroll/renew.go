package enroll

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// Renew takes a renewal in, whose proof was checked. A host shows by it that it knows what it has told last time: a copy of it, or itself
// after it was taken back in time, does not know it once the other one has renewed. An answer may get lost, so what came last may come again:
// the value before, with the same next one.
func (r *Registry) Renew(ctx context.Context, id trust.ID, request *identity.RenewRequest) (*identity.Answer, error) {
	if len(request.Value) != identity.ValueSize || len(request.Next) != identity.ValueSize || bytes.Equal(request.Value, request.Next) {
		return nil, invalid("a renewal has two values of %d bytes that differ", identity.ValueSize)
	}
	var h *Host
	var renewed bool
	err := r.change(ctx, func(tx store.Tx) (changed []*Host, err error) {
		renewed = false
		if h, err = readHost(tx, id); err != nil {
			return nil, err
		}
		if h == nil {
			return nil, unknownHost(id)
		}
		if h.Successor != "" {
			return nil, r.repeatSuccession(tx, &h, request, &renewed)
		}
		if !mayReport(h.State) {
			return nil, nil
		}
		if !h.accepts(request) {
			return r.noticeCopy(tx, h)
		}
		renewed = true
		if request.Succession != nil {
			return r.succeed(tx, &h, request)
		}
		was := h.Keys
		if err := h.renew(request); err != nil {
			return nil, err
		}
		now := r.now()
		h.RenewedAt = &now
		if err := writeHost(tx, h); err != nil {
			return nil, err
		}
		return []*Host{h}, r.auditKeys(tx, h, was)
	})
	if err != nil {
		return nil, err
	}
	a, err := r.answer(h, request.Generation, request.Number)
	if err != nil {
		return nil, err
	}
	a.Renewed, a.Lack = renewed, r.lack(h, request)
	if a.Lack != nil {
		a.RetryAfter = lackAgain
	}
	return a, nil
}

// auditKeys notes that a host has replaced its keys.
func (r *Registry) auditKeys(tx store.Tx, h *Host, was *trust.HostKeys) error {
	if h.Keys.Connection == was.Connection && h.Keys.Sealing == was.Sealing {
		return nil
	}
	return By{Actor: server}.audit(tx, r.now(), "host.keys", h.ID, map[string]string{"name": h.Name, "number": fmt.Sprint(h.Keys.Number), "connection": h.Keys.Connection, "sealing": h.Keys.Sealing})
}

// lackAgain is after how many seconds a host renews that has trust documents that the server lacks.
const lackAgain = 30

// lack says which trust documents the server has lost that a host has, as after it was put back from a backup; nil: none.
func (r *Registry) lack(h *Host, request *identity.RenewRequest) *identity.Lack {
	newest := r.authority.Chain().Newest()
	held := trust.Position{Epoch: request.Generation, N: request.Number}
	if !mayReport(h.State) || held.Compare(trust.Position{Epoch: newest.Generation, N: newest.Number}) <= 0 {
		return nil
	}
	return &identity.Lack{Generation: newest.Generation, Number: newest.Number}
}

// regain takes up trust documents that the server has lost. They are signed under those that it has, so that it does not matter who brings them. One
// that cannot be taken up keeps no host from renewing: who runs the server is told.
func (r *Registry) regain(ctx context.Context, documents []*trust.Signed) {
	for _, d := range documents[:min(len(documents), identity.MaxDocuments)] {
		if d == nil {
			return
		}
		err := r.authority.Accept(ctx, d, func(tx store.Tx) error {
			return By{Actor: server, Reason: "a host has it, and the server had lost it"}.audit(tx, r.now(), "trust.document", "", nil)
		})
		if err != nil {
			if r.options.Failed != nil {
				r.options.Failed(fmt.Errorf("a host has a trust document that the server cannot take up: %w", err))
			}
			return
		}
	}
}

// accepts tells whether a renewal is of the host that has renewed last.
func (h *Host) accepts(request *identity.RenewRequest) bool {
	_, ok := h.renewals().Accept(request.Value, request.Next)
	return ok
}

func (h *Host) renewals() trust.Renewals {
	return trust.Renewals{Value: h.value, Former: h.former, Any: h.anyValue}
}

// renew has the next value count, and other keys if the host has them.
func (h *Host) renew(request *identity.RenewRequest) error {
	if request.Keys != nil {
		keys, err := trust.OpenHostKeys(request.Keys, h.Keys)
		if err != nil {
			return &diag.HintError{Code: CodeProof, Err: err}
		}
		h.Keys, h.certificate = keys, request.Keys
	}
	after, _ := h.renewals().Accept(request.Value, request.Next)
	h.former, h.value, h.anyValue = after.Former, after.Value, after.Any
	if h.State == identity.Approved {
		h.State = identity.Active
	}
	return nil
}

// openSuccession gives the keys of the identity that follows a host's.
func openSuccession(h *Host, request *identity.RenewRequest) (*trust.HostKeys, error) {
	if request.Succession == nil || request.Keys == nil {
		return nil, errors.New("the host has another identity by now")
	}
	next, err := trust.OpenSuccession(request.Succession, h.Keys.Identity)
	if err != nil {
		return nil, err
	}
	keys, err := trust.OpenHostKeys(request.Keys, nil)
	if err == nil && keys.Identity != next {
		err = errors.New("the keys are not those of the identity that follows")
	}
	return keys, err
}

// succeed has another identity take the place of a host's: it is another host from then on, with the name, the labels and the state of the former, which is
// revoked.
func (r *Registry) succeed(tx store.Tx, h **Host, request *identity.RenewRequest) ([]*Host, error) {
	former := *h
	keys, err := openSuccession(former, request)
	if err != nil {
		return nil, &diag.HintError{Code: CodeProof, Err: err}
	}
	id := keys.Identity.ID()
	if isKnown, err := wasKnown(tx, id); err != nil || isKnown {
		return nil, errors.Join(err, &diag.HintError{Code: CodeState, Message: fmt.Sprintf("the identity %s was used before", id.Short()), Hint: "make another one"})
	}
	next := *former
	next.ID, next.Keys, next.certificate, next.version = id, keys, request.Keys, 0
	now := r.now()
	plain := *request
	plain.Keys = nil
	if err := next.renew(&plain); err != nil {
		return nil, err
	}
	next.RenewedAt = &now
	former.end(now, "the identity "+id.Short()+" has followed it")
	former.Successor = id
	for _, w := range []*Host{former, &next} { // in this order: a name has one holder
		if err := writeHost(tx, w); err != nil {
			return nil, err
		}
	}
	*h = &next
	by := By{Actor: server}
	return []*Host{former, &next}, by.audit(tx, now, "host.succeed", former.ID, map[string]string{"name": next.Name, "successor": string(id)})
}

// repeatSuccession answers a host that has not learned that its other identity counts.
func (r *Registry) repeatSuccession(tx store.Tx, h **Host, request *identity.RenewRequest, renewed *bool) error {
	keys, err := openSuccession(*h, request)
	if err != nil || keys.Identity.ID() != (*h).Successor {
		return nil // it is revoked, as the answer says
	}
	next, err := readHost(tx, (*h).Successor)
	if err != nil {
		return err
	}
	if next != nil && same(next.former, request.Value) && same(next.value, request.Next) {
		*h, *renewed = next, true
	}
	return nil
}
