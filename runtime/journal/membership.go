package journal

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/lang/site"
)

// Membership says of which cluster the machine is a member: of one at most, whatever sites there are.
type Membership struct {
	Site string `json:"site"`
	site.Membership
	Since time.Time `json:"since"`
	By    string    `json:"by,omitempty"` // who had it join
}

// Is reports whether it is that of a cluster of a site.
func (m *Membership) Is(site, cluster string) bool {
	return m != nil && m.Site == site && m.Name == cluster
}

// MemberError says that the machine is a member of another cluster.
type MemberError struct{ Membership }

// Error names the cluster.
func (e *MemberError) Error() string {
	return fmt.Sprintf("it is a member of the cluster %s of the site %s since %s", e.Name, e.Site, moment(e.Since))
}

func (f *Folder) membershipPath() string { return filepath.Join(f.dir, "cluster") }

// Membership gives what the machine is a member of; nil: of nothing.
func (f *Folder) Membership() (*Membership, error) {
	data, err := f.disk.readFile(f.membershipPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var m Membership
	if err == nil {
		err = unseal(data, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("of which cluster this machine is a member cannot be read from %s: %w", f.membershipPath(), err)
	}
	return &m, nil
}

// Join makes the machine a member, durably, and gives what it was a member of before. Of two that call it at
// once one gets a *MemberError, as whoever comes while it is a member of another cluster.
func (f *Folder) Join(m Membership) (was *Membership, err error) {
	for {
		was, err = f.Membership()
		switch {
		case err != nil:
			return nil, err
		case was != nil && !was.Is(m.Site, m.Name):
			return nil, &MemberError{*was}
		case was != nil:
			m.Since, m.By = was.Since, was.By
		case m.Since.IsZero():
			m.Since = time.Now().UTC()
		}
		data, err := seal(m)
		if err != nil {
			return nil, err
		}
		if was != nil {
			err = f.disk.replace(f.membershipPath(), data, true)
		} else {
			err = f.create(f.membershipPath(), data)
		}
		if errors.Is(err, fs.ErrExist) {
			continue // somebody else was faster
		}
		if err != nil {
			return nil, fmt.Errorf("that this machine joins the cluster %s cannot be recorded: %w", m.Name, err)
		}
		return was, nil
	}
}

// create puts data at a path where nothing is, durably and in one step; else the error is fs.ErrExist.
func (f *Folder) create(path string, data []byte) error {
	random := make([]byte, tempRandom)
	rand.Read(random)
	temp := filepath.Join(f.dir, tempPrefix+hex.EncodeToString(random))
	err := f.disk.write(temp, data, os.O_EXCL)
	if err == nil {
		err = f.disk.sync(temp)
	}
	if err == nil {
		err = f.disk.link(temp, path)
	}
	if gone := f.disk.remove(temp); err == nil {
		err = gone
	}
	if err == nil {
		err = f.disk.sync(f.dir)
	}
	return err
}

// Leave ends the membership in a cluster of a site, durably; in another one, or in none, it changes nothing.
func (f *Folder) Leave(site, cluster string) error {
	m, err := f.Membership()
	if err != nil || !m.Is(site, cluster) {
		return err
	}
	if err = f.disk.remove(f.membershipPath()); err == nil {
		err = f.disk.sync(f.dir)
	}
	if err != nil {
		return fmt.Errorf("that this machine has left the cluster %s cannot be recorded: %w", cluster, err)
	}
	return nil
}

// mayStart refuses a run while applies are on hold, and one for a member of another cluster.
func (f *Folder) mayStart(m *Meta) error {
	if err := f.isFree(); err != nil || m.Run == nil || m.Run.Cluster == nil {
		return err
	}
	was, err := f.Membership()
	if err == nil && was != nil && !was.Is(m.Run.Site, m.Run.Cluster.Name) {
		err = &MemberError{*was}
	}
	return err
}

// join takes note, before a run begins, of the cluster that it is for. The lock is held.
func (f *Folder) join(m *Meta) error {
	if m.Run == nil || m.Run.Cluster == nil || m.Run.Site == "" {
		return nil
	}
	_, err := f.Join(Membership{Site: m.Run.Site, Membership: *m.Run.Cluster, By: m.User})
	return err
}

// LeaveCluster ends what membership the run's site had given the machine: all is gone that was made of it.
func (r *Run) LeaveCluster() error {
	m, err := r.folder.Membership()
	if err != nil || m == nil || m.Site != r.status.Site {
		return err
	}
	return r.folder.Leave(m.Site, m.Name)
}
