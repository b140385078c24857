package host

import (
	"io/fs"
	"slices"
)

// Permissions are what the acting user may do. The answers are for plans: only the act
// itself can tell for sure.
type Permissions interface {
	// Credentials says who acts.
	Credentials() Credentials
	// Access says what there is to know beside owner, group and mode of what is
	// at the path; a symbolic link there is not followed. Of what cannot be
	// looked at for want of rights it is the zero Access.
	Access(path string) Access
}

// Credentials are what the kernel decides by.
type Credentials struct {
	UID    int   `json:"uid"`
	GID    int   `json:"gid"`
	Groups []int `json:"groups,omitempty"` // further ones
	// Privileged is set for who may change what is others', and give away what is
	// their own, as root usually may.
	Privileged bool `json:"privileged,omitempty"`
	// Confined is set for who can start no programs: below a root directory that
	// takes the right to chroot.
	Confined bool `json:"confined,omitempty"`
}

// Access is what one path allows.
type Access struct {
	// Names is set where the acting user may make and remove names: in a
	// directory, by its mode, ACL and all else that the kernel asks.
	Names bool `json:"names,omitempty"`
	// Immutable is set where nobody may change it (chattr +i).
	Immutable bool `json:"immutable,omitempty"`
	// AppendOnly is set where nobody may replace or remove it, nor names in it
	// (chattr +a).
	AppendOnly bool `json:"append_only,omitempty"`
	// ReadOnly is set where its file system is mounted so.
	ReadOnly bool `json:"read_only,omitempty"`
	// List says whom its access control list names, and a directory's default list, as
	// getfacl -n does: "user:1001:rw-, default:user:1001:rwx". Who takes it over from
	// another account than root drops these.
	List string `json:"list,omitempty"`
}

// fullAccess is the answer of who knows nothing.
func fullAccess() Access { return Access{Names: true} }

// isInGroup reports whether the account is in a group.
func (c Credentials) isInGroup(gid int) bool { return gid == c.GID || slices.Contains(c.Groups, gid) }

// hasAccess reports whether the mode grants all of these bits, such as 0o3 to make names
// in a directory.
func (c Credentials) hasAccess(info Info, bits fs.FileMode) bool {
	switch granted := info.Mode.Perm(); {
	case c.Privileged:
		return true
	case info.UID == c.UID:
		return granted>>6&bits == bits
	case c.isInGroup(info.GID):
		return granted>>3&bits == bits
	default:
		return granted&bits == bits
	}
}

// Refusal is why a change is refused to the acting user.
type Refusal struct {
	Path string // what is to be changed
	// Denied is what the user may not do, after "may not": "write /srv/a".
	Denied string
	// Obstacle is what stands in the way of everybody; empty: it is the user who lacks a
	// right. Code is its word for programs, Cure what removes it.
	Obstacle, Code, Cure string
}

// Reason tells it to a person. Who is the subject of the sentence, such as
// "this user".
func (r *Refusal) Reason(who string) string {
	if r.Obstacle != "" {
		return r.Obstacle + " (" + r.Cure + ")"
	}
	return who + " may not " + r.Denied + "; run as root to know"
}
