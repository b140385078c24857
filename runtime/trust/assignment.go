package trust

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// AssignmentFormat is the version of assignments. Whoever reads one does not pass over what a later format means.
const AssignmentFormat = "tenet.assignment/1"

// Position orders the assignments of one host and site. A server that was restored from a backup begins a new epoch.
type Position struct {
	Epoch uint64 `json:"epoch"`
	N     uint64 `json:"n"`
}

// Compare orders positions.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Epoch, q.Epoch), cmp.Compare(p.N, q.N))
}

// String gives it for people.
func (p Position) String() string { return fmt.Sprintf("%d.%d", p.Epoch, p.N) }

// Assignment is what a host is to be, as far as one site says. Its signature covers all of it: what is encrypted to the
// host lies elsewhere, under the digest that stands here.
type Assignment struct {
	Format string `json:"format"`
	Host   ID     `json:"host"`
	Site   string `json:"site"`
	Position
	Revision string `json:"revision"` // of the site, for people
	// Identity is the same for two assignments that bring about the same: the digest of the StateRun without its secrets, of
	// encrypted files as the site holds them, of options and of the program. It has no ciphertext in it, which differs each time, and
	// no secret.
	Identity Digest `json:"identity"`
	// Absent is a signed absence: the site no longer says anything of the host. Nothing but this ends it. Then there is no bundle.
	Absent bool `json:"absent,omitempty"`
	// Bundle is the StateRun with its secrets, the list of its files and its options, encrypted to the recipient.
	Bundle    Content   `json:"bundle"`
	Recipient string    `json:"recipient"`       // HostKeys.Sealing
	Files     []Content `json:"files,omitempty"` // that the bundle needs
	Program   string    `json:"program"`         // the version that has evaluated it
	Until     time.Time `json:"until"`           // when it is no longer accepted; what is held does not expire
}

// Limits of an assignment.
const (
	maxSiteName = 200
	maxFiles    = 40_000
)

// Check says why an assignment can be none.
func (a *Assignment) Check() error {
	switch {
	case a.Format != AssignmentFormat:
		return fmt.Errorf("its format is %.40q, and this program knows %s", a.Format, AssignmentFormat)
	case a.Site == "" || len(a.Site) > maxSiteName:
		return errors.New("it names no site")
	case a.Epoch == 0 || a.N == 0:
		return errors.New("its epoch and its number begin at 1")
	case a.Until.IsZero():
		return errors.New("it does not say until when it is accepted")
	case len(a.Files) > maxFiles:
		return fmt.Errorf("it needs more than %d files", maxFiles)
	case a.Absent && (!a.Bundle.SHA256.IsZero() || len(a.Files) > 0):
		return errors.New("it is an absence, and has contents")
	case !a.Absent && (a.Bundle.SHA256.IsZero() || a.Bundle.Size <= 0 || a.Identity.IsZero()):
		return errors.New("it names no bundle")
	}
	for _, f := range a.Files {
		if f.Size < 0 {
			return errors.New("a file of it has a negative size")
		}
	}
	return nil
}

// Recipient is who accepts assignments.
type Recipient struct {
	Host    ID
	Sealing string // the public half of the key that opens its secrets
	Now     time.Time
}

// OpenAssignment gives an assignment that a host may accept: signed for it, by a key that may assign, encrypted to it, in time, and
// after the one of this site that it holds; zero: it holds none. The caller keeps its position durable before it acts.
func (c *Chain) OpenAssignment(s *Signed, to Recipient, held func(site string) Position) (*Assignment, error) {
	a, _, err := open[Assignment](c, s, KindAssignment, VerbAssign)
	if err != nil {
		return nil, err
	}
	if err := a.Check(); err != nil {
		return nil, refuse(KindAssignment, "%v", err)
	}
	at := held(a.Site)
	switch {
	case a.Host != to.Host:
		return nil, refuse(KindAssignment, "it is for the host %s, and this is %s", a.Host.Short(), to.Host.Short())
	case a.Position.Compare(at) <= 0:
		return nil, refuse(KindAssignment, "its number %s does not come after %s, which is held", a.Position, at)
	case to.Now.After(a.Until):
		return nil, refuseFor(CauseClock, KindAssignment, "it was to be accepted until %s, and the clock here says %s", a.Until.UTC().Format(time.RFC3339), to.Now.UTC().Format(time.RFC3339))
	case !a.Absent && a.Recipient != to.Sealing:
		return nil, refuseFor(CauseSealing, KindAssignment, "its secrets are encrypted to another key than this host has now")
	}
	return a, nil
}

// ClaimedSite is the site and the position that an assignment names, whoever has signed it: for whoever tells that it is not accepted, and for nothing
// else. Of what cannot be read, or names too much, it is nothing.
func ClaimedSite(s *Signed) (site string, at Position) {
	a, err := peek[Assignment](s, KindAssignment)
	if err != nil || len(a.Site) > maxSiteName {
		return "", Position{}
	}
	return a.Site, a.Position
}

// ShownAssignment gives an assignment that a host shows as what it holds: signed for it by a key that may assign, whenever that was.
func (c *Chain) ShownAssignment(s *Signed, host ID) (*Assignment, error) {
	a, _, err := open[Assignment](c, s, KindAssignment, VerbAssign)
	if err == nil && a.Host != host {
		err = refuse(KindAssignment, "it is for the host %s, and %s shows it", a.Host.Short(), host.Short())
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}
