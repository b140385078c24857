package host

import (
	"fmt"
	"syscall"

	"github.com/tenetcm/tenet/lang/diag"
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

// CodeLink is the code of the error that a path leads nowhere, since another account decides
// about a symbolic link on its way, which leads to what is not that account's own. The error
// is a syscall.ELOOP.
const CodeLink = "link"

func (t *trust) refuse() error {
	return &diag.HintError{Code: CodeLink, Err: syscall.ELOOP,
		Message: fmt.Sprintf("the symbolic link %q on the way is not followed: the user %d can decide where it leads, and it does not lead to what is that user's own", t.link, t.by),
		Hint:    fmt.Sprintf("name the true path, to which the link leads by %q, or act as that user with become", t.target)}
}
