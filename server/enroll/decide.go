package enroll

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// By is who does something to a host, and why.
type By struct {
	Actor  string
	Reason string
	// Allow refuses what the actor may not do. It is asked within the transaction, of the host as it was and as it is to be; nil: all is allowed.
	Allow func(access.Target) error
}

// server is what happens by itself.
const server = "server"

func (b By) audit(tx store.Tx, at time.Time, action string, host trust.ID, detail map[string]string) error {
	return access.Audit(tx, access.Entry{At: at, Actor: b.Actor, Action: action, Host: string(host), Reason: cleanReason(b.Reason), Detail: detail})
}

// change changes hosts in one transaction, and takes up what came of it. The function gives those that it has written.
func (r *Registry) change(ctx context.Context, act func(store.Tx) ([]*Host, error)) error {
	var changed []*Host
	err := r.store.Write(ctx, func(tx store.Tx) (err error) {
		changed, err = act(tx)
		return err
	})
	if err == nil {
		r.remember(changed...)
	}
	return err
}

// decide has a person change one host.
func (r *Registry) decide(ctx context.Context, by By, action string, id trust.ID, act func(store.Tx, *Host) (detail map[string]string, err error)) (*Host, error) {
	var h *Host
	err := r.change(ctx, func(tx store.Tx) ([]*Host, error) {
		var err error
		if h, err = readHost(tx, id); err != nil {
			return nil, err
		}
		if h == nil {
			return nil, unknownHost(id)
		}
		if err := by.allow(h); err != nil {
			return nil, err
		}
		detail, err := act(tx, h)
		if err != nil {
			return nil, err
		}
		if err := by.allow(h); err != nil {
			return nil, err
		}
		if err := writeHost(tx, h); err != nil {
			return nil, err
		}
		if detail == nil {
			detail = map[string]string{}
		}
		detail["name"] = h.Name
		return []*Host{h}, by.audit(tx, r.now(), action, id, detail)
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (b By) allow(h *Host) error {
	if b.Allow == nil {
		return nil
	}
	return b.Allow(h.Target())
}

func unknownHost(id trust.ID) error {
	return &diag.HintError{Code: CodeNotFound, Message: fmt.Sprintf("there is no host %s", id.Short()), Hint: "list the hosts"}
}

func wrongState(h *Host, what string) error {
	return &diag.HintError{Code: CodeState, Message: fmt.Sprintf("the host %s is %s, and cannot be %s", h.Name, h.State, what), Hint: "look at the host"}
}

// Approval says as what a host is taken in.
type Approval struct {
	Name   string            // empty: as it wants to be called
	Labels map[string]string // nil: as it claims
	// Replace revokes the host that has the name; else a name that is taken is an error.
	Replace bool
}

// Approve takes a host in that is pending.
func (r *Registry) Approve(ctx context.Context, by By, id trust.ID, a Approval) (*Host, error) {
	var replaced *Host
	h, err := r.decide(ctx, by, "host.approve", id, func(tx store.Tx, h *Host) (map[string]string, error) {
		if h.State != identity.Pending {
			return nil, wrongState(h, "approved")
		}
		var err error
		replaced, err = r.admit(tx, by, h, a)
		detail := map[string]string{"token": h.Token}
		if replaced != nil {
			detail["replaces"] = string(replaced.ID)
		}
		return detail, err
	})
	if err == nil && replaced != nil {
		r.remember(replaced)
	}
	return h, err
}

// admit makes a host approved, under a name that no other has. It gives the one that it has revoked for that.
func (r *Registry) admit(tx store.Tx, by By, h *Host, a Approval) (replaced *Host, err error) {
	if a.Name != "" {
		h.Name = a.Name
	}
	if a.Labels != nil {
		h.Labels = maps.Clone(a.Labels)
	}
	if err := checkName(h.Name); err != nil {
		return nil, err
	}
	if err := checkLabels(h.Labels); err != nil {
		return nil, err
	}
	holder, err := readHolder(tx, h.Name)
	switch {
	case err != nil:
		return nil, err
	case holder != nil && !a.Replace:
		return nil, nameTaken(holder)
	case holder != nil:
		if err := by.allow(holder); err != nil {
			return nil, err
		}
		holder.end(r.now(), "the host "+h.ID.Short()+" has taken its place")
		if err := writeHost(tx, holder); err != nil {
			return nil, err
		}
		if err := by.audit(tx, r.now(), "host.revoke", holder.ID, map[string]string{"name": holder.Name, "replaced_by": string(h.ID)}); err != nil {
			return nil, err
		}
	}
	now := r.now()
	h.State, h.Reason, h.DecidedAt, h.DecidedBy = identity.Approved, "", &now, by.Actor
	return holder, nil
}

func nameTaken(holder *Host) error {
	return &diag.HintError{Code: CodeNameTaken, Message: fmt.Sprintf("the name %s belongs to the host %s", holder.Name, holder.ID.Short()),
		Hint: "if this is the same machine with new keys, approve it in place of the former one, which is revoked by that; else give it another name"}
}

// Reject refuses a host that is pending. It stays known, so that it is not asked about again.
func (r *Registry) Reject(ctx context.Context, by By, id trust.ID) (*Host, error) {
	return r.decide(ctx, by, "host.reject", id, func(_ store.Tx, h *Host) (map[string]string, error) {
		if h.State != identity.Pending {
			return nil, wrongState(h, "rejected")
		}
		h.reject(by, r.now())
		return nil, nil
	})
}

// Rename calls a host otherwise.
func (r *Registry) Rename(ctx context.Context, by By, id trust.ID, name string) (*Host, error) {
	return r.decide(ctx, by, "host.rename", id, func(tx store.Tx, h *Host) (map[string]string, error) {
		if !mayReport(h.State) {
			return nil, wrongState(h, "renamed")
		}
		if err := checkName(name); err != nil {
			return nil, err
		}
		holder, err := readHolder(tx, name)
		if err != nil {
			return nil, err
		}
		if holder != nil && holder.ID != h.ID {
			return nil, nameTaken(holder)
		}
		detail := map[string]string{"former": h.Name}
		h.Name = name
		return detail, nil
	})
}

// Label gives a host other labels in place of all that it has.
func (r *Registry) Label(ctx context.Context, by By, id trust.ID, labels map[string]string) (*Host, error) {
	return r.decide(ctx, by, "host.label", id, func(_ store.Tx, h *Host) (map[string]string, error) {
		if !mayReport(h.State) {
			return nil, wrongState(h, "labelled")
		}
		if err := checkLabels(labels); err != nil {
			return nil, err
		}
		detail := map[string]string{"former": labelText(h.Labels), "labels": labelText(labels)}
		h.Labels = maps.Clone(labels)
		return detail, nil
	})
}

// Lock keeps anything new from a host. It keeps what it has, and reports.
func (r *Registry) Lock(ctx context.Context, by By, id trust.ID) (*Host, error) {
	return r.decide(ctx, by, "host.lock", id, func(_ store.Tx, h *Host) (map[string]string, error) {
		if !mayReport(h.State) {
			return nil, wrongState(h, "locked")
		}
		h.State, h.Reason, h.copied, h.Question = identity.Locked, or(cleanReason(by.Reason), "it was locked by "+by.Actor), false, false
		return nil, nil
	})
}

// Unlock lets a host have what is new. Where it was locked since a copy of it was noticed, whichever renews first is the host from then on,
// and the other one is a copy: see to it that the right one is there.
func (r *Registry) Unlock(ctx context.Context, by By, id trust.ID) (*Host, error) {
	return r.decide(ctx, by, "host.unlock", id, func(_ store.Tx, h *Host) (map[string]string, error) {
		if h.State != identity.Locked {
			return nil, wrongState(h, "unlocked")
		}
		h.anyValue = h.anyValue || h.CopiedAt != nil
		h.unlock()
		h.CopiedAt = nil
		return nil, nil
	})
}

// unlock gives a host the state that it had.
func (h *Host) unlock() {
	h.State, h.Reason, h.copied, h.Question = identity.Active, "", false, false
	if h.RenewedAt == nil {
		h.State = identity.Approved
	}
}

// Revoke ends what there is between a host and the server, for good: its identity is never taken in again.
func (r *Registry) Revoke(ctx context.Context, by By, id trust.ID) (*Host, error) {
	return r.decide(ctx, by, "host.revoke", id, func(_ store.Tx, h *Host) (map[string]string, error) {
		if h.State == identity.Revoked {
			return nil, wrongState(h, "revoked")
		}
		h.end(r.now(), or(cleanReason(by.Reason), "it was revoked by "+by.Actor))
		return nil, nil
	})
}

// end puts a host out, for good.
func (h *Host) end(now time.Time, reason string) {
	h.State, h.Reason, h.Question, h.EndedAt = identity.Revoked, reason, false, &now
}

func or(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}
