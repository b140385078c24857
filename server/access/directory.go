package access

import (
	"context"
	"time"

	"github.com/tenetcm/tenet/server/store"
)

// Options of a directory. The zero value works.
type Options struct {
	Clock func() time.Time // nil: time.Now
	Cost  Cost             // of passwords; zero: as RFC 9106 recommends
	// Idle is after what time without use a session ends; 0: 12 hours.
	Idle time.Duration
	// Absolute is after what time a session ends in any case; 0: 7 days.
	Absolute time.Duration
}

// Directory is the people, roles, sessions and programs of a server.
type Directory struct {
	store     *store.Store
	o         Options
	passwords *passwords
	attempts  *attempts
	failures  *failures
	changed   change
}

// NewDirectory makes a directory of what a store with the tables of Migrations has.
func NewDirectory(s *store.Store, o Options) *Directory {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Cost == (Cost{}) {
		o.Cost = usualCost()
	}
	if o.Idle == 0 {
		o.Idle = 12 * time.Hour
	}
	if o.Absolute == 0 {
		o.Absolute = 7 * 24 * time.Hour
	}
	return &Directory{store: s, o: o, passwords: newPasswords(o.Cost), attempts: newAttempts(), failures: newFailures()}
}

// Store gives the store of the directory.
func (d *Directory) Store() *store.Store { return d.store }

func (d *Directory) now() time.Time { return d.o.Clock().UTC().Truncate(time.Microsecond) }

// act carries out an act of a caller, and audits it.
func (d *Directory) act(ctx context.Context, e Entry, f func(tx store.Tx) error) error {
	e.At = d.now()
	err := d.store.Write(ctx, func(tx store.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return Audit(tx, e)
	})
	if err == nil && e.Action != beginSession { // which takes nothing from anybody, and happens often
		d.changed.tell()
	}
	return err
}
