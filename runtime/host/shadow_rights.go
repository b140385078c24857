package host

import (
	"errors"
	"io/fs"
	"sync"
)

// noteRefusals makes the shadow note what the acting user of a host may not do.
func (s *Shadow) noteRefusals(base Host) {
	s.tree.rights = &rights{of: sync.OnceValue(base.Credentials), base: base, refuse: func(r *Refusal) error {
		s.refusals = append(s.refusals, r)
		return nil
	}}
}

// noteProgram notes that the acting user may not start a program: only root may start
// one as another account, or below a root directory.
func (s *Shadow) noteProgram(c Command) {
	if len(c.Argv) == 0 {
		return
	}
	denied, acting := "", s.tree.rights.of()
	switch {
	case acting.UID == 0:
	case acting.Confined:
		denied = "run " + c.Argv[0] + " below a root directory"
	case c.User != "":
		if u, err := s.User(c.User); err == nil && u.UID != acting.UID {
			denied = "run " + c.Argv[0] + " as " + c.User
		}
	}
	if denied != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refusals = append(s.refusals, &Refusal{Path: c.Argv[0], Denied: denied})
	}
}

// Refusals gives what of all that was written here since it was called last the
// acting user may not write on the host. Changes is how much was written in all.
func (s *Shadow) Refusals() (refused []*Refusal, changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused, changes = s.refusals, s.writes
	s.refusals, s.writes = nil, 0
	return refused, changes
}

// Refuses says why the acting user may not make, replace or remove what is at a
// path; nil: nothing is known that speaks against it.
func (s *Shadow) Refuses(path string) *Refusal {
	var refused *Refusal
	_ = s.change("access", path, false, nil, func(dir *place, name string, at *place) error {
		if name != "" {
			refused = s.mayReplace(path, dir, at)
		}
		return nil
	}) // what is not there is not for want of rights
	return refused
}

// Credentials is Permissions.Credentials, of the base.
func (s *Shadow) Credentials() Credentials { return s.tree.rights.of() }

// Access is Permissions.Access.
func (s *Shadow) Access(path string) Access { return s.tree.accessAt(path) }

// accessAt is Permissions.Access of a tree.
func (t *tree) accessAt(path string) Access {
	clean, err := checkPath("access", path)
	if err != nil || t.rights == nil {
		return fullAccess()
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	at, err := t.find(clean, false)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return Access{}
	case err != nil:
		return fullAccess()
	}
	return t.access(at)
}
