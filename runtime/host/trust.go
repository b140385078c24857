package host

import (
	"fmt"
	"syscall"
)

// trust decides which symbolic links are followed on the way of a path. A link of root's
// or of the acting user's is, where nobody else could have put it. One that another account
// decides about leads only to what is that account's own: else it could have a program with
// more rights read, change or remove what it names. In its own directory an account decides
// about every link, whoever made it: it can move a link of root's there from elsewhere. The
// kernel's fs.protected_symlinks does the like, for directories such as /tmp only.
type trust struct {
	actor  int    // the acting user
	link   string // the first link that another account decides about and that was followed; empty: none
	target string // where that one leads, as it says
	by     int    // that account
}

func (t *trust) isTrusted(uid int) bool { return uid == 0 || uid == t.actor }

// follow refuses a link, or takes note of who decides about it.
func (t *trust) follow(name, target string, in, link Info) error {
	const others = 0o022
	if t.isTrusted(in.UID) && (t.isTrusted(link.UID) || in.Mode&others == 0) {
		return nil
	}
	by := in.UID
	if t.isTrusted(in.UID) {
		by = link.UID
	}
	if t.link == "" {
		t.link, t.target, t.by = name, target, by
	}
	if by != t.by || link.UID != by && !t.isTrusted(link.UID) {
		return t.refuse()
	}
	return nil
}

func (t *trust) refuse() error { return &LinkRefusal{Link: t.link, Target: t.target, UID: t.by} }

// LinkRefusal is why a path leads nowhere: another account decides about a symbolic link on
// its way, which leads to what is not that account's own. It is a syscall.ELOOP.
type LinkRefusal struct {
	Link   string // its name
	Target string // where it leads, as it says
	UID    int    // of the account
}

// Error names the link.
func (e *LinkRefusal) Error() string {
	return fmt.Sprintf("the symbolic link %q on the way is not followed: the user %d can decide where it leads, and it does not lead to what is that user's own", e.Link, e.UID)
}

// Is makes it a syscall.ELOOP.
func (e *LinkRefusal) Is(target error) bool { return target == syscall.ELOOP }

// Code is a word for programs.
func (e *LinkRefusal) Code() string { return "link" }

// Hint says what helps.
func (e *LinkRefusal) Hint() string {
	return fmt.Sprintf("name the true path, to which the link leads by %q, or act as that user with become", e.Target)
}
