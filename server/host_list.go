package server

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/store"
)

// hostList is the hosts as deployments see them. It keeps what it has read, and reads only what has changed since: it is asked at each step.
type hostList struct {
	store *store.Store

	mu   sync.Mutex
	read int64             // the version up to which is read
	list []deploy.Enrolled // by name; another takes its place when something has changed
}

// List is deploy.Hosts'. Nobody changes what it gives.
func (l *hostList) List(ctx context.Context) ([]deploy.Enrolled, error) {
	l.mu.Lock()
	from, list := l.read, l.list
	l.mu.Unlock()
	var changed []*enroll.Host
	newest := from
	err := l.store.Read(ctx, func(r store.Reader) (err error) {
		changed, newest, err = enroll.ChangedSince(r, from)
		return err
	})
	if err != nil || len(changed) == 0 {
		return list, err
	}
	list = withChanged(list, changed)
	l.mu.Lock()
	defer l.mu.Unlock()
	if newest > l.read { // nobody has read further meanwhile
		l.list, l.read = list, newest
	}
	return list, nil
}

// withChanged gives a list in which hosts are as they are now.
func withChanged(former []deploy.Enrolled, changed []*enroll.Host) []deploy.Enrolled {
	now := map[trust.ID]*enroll.Host{}
	for _, h := range changed {
		now[h.ID] = h
	}
	list := make([]deploy.Enrolled, 0, len(former)+len(changed))
	isInOrder := true
	for _, e := range former {
		h := now[e.ID]
		switch {
		case h == nil:
			list = append(list, e)
		case h.WasApproved() && h.Name == e.Name: // where it was
			list = append(list, enrolledOf(h))
			delete(now, e.ID)
		}
	}
	for _, h := range now {
		if h.WasApproved() {
			list, isInOrder = append(list, enrolledOf(h)), false
		}
	}
	if !isInOrder {
		slices.SortFunc(list, func(a, b deploy.Enrolled) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.ID), string(b.ID)))
		})
	}
	return list
}

func enrolledOf(h *enroll.Host) deploy.Enrolled {
	e := deploy.Enrolled{ID: h.ID, Name: h.Name, Labels: h.Labels, Sealing: h.Keys.Sealing, Keys: h.Certificate()}
	if h.State == "locked" || h.State == "revoked" {
		e.Locked, e.Revoked = "it is "+string(h.State), h.State == "revoked"
	}
	return e
}
