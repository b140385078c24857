package host

import (
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
)

// Where accounts are written down; see passwd(5) and group(5).
const (
	passwdFile = "/etc/passwd"
	groupFile  = "/etc/group"
)

// ParsePasswd reads the lines of a passwd file. Lines that are none are left
// out, as the C library does.
func ParsePasswd(text string) []User {
	var users []User
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) != 7 || !isAccountName(f[0]) {
			continue
		}
		uid, err1 := parseID(f[2])
		gid, err2 := parseID(f[3])
		if err1 != nil || err2 != nil {
			continue
		}
		users = append(users, User{Name: f[0], UID: uid, GID: gid, Comment: f[4], Home: f[5], Shell: f[6]})
	}
	return users
}

// ParseGroup reads the lines of a group file. Lines that are none are left
// out.
func ParseGroup(text string) []Group {
	var groups []Group
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) != 4 || !isAccountName(f[0]) {
			continue
		}
		gid, err := parseID(f[2])
		if err != nil {
			continue
		}
		g := Group{Name: f[0], GID: gid}
		for member := range strings.SplitSeq(f[3], ",") {
			if member != "" {
				g.Members = append(g.Members, member)
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// isAccountName refuses empty names, comments and NIS entries.
func isAccountName(s string) bool { return s != "" && !strings.ContainsAny(s[:1], "#+-") }

func parseID(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int(n), err
}

// noAccount says that there is no such user or group.
type noAccount struct{ kind, name string }

func (e *noAccount) Error() string { return "there is no " + e.kind + " " + strconv.Quote(e.name) }

// Is makes it an fs.ErrNotExist.
func (e *noAccount) Is(target error) bool { return target == fs.ErrNotExist }

// accounts looks up users and groups in the passwd and group files of a host.
// It reads a file again only when its stamp has changed.
type accounts struct {
	// read gives the text of a file, and a comparable stamp that changes with
	// it. With the stamp of before it gives no text, but ok false.
	read func(path string, before any) (text string, stamp any, ok bool, err error)

	mu     sync.Mutex
	users  userTable
	groups groupTable
}

type userTable struct {
	stamp  any
	byName map[string]User
	byID   map[int]User
}

type groupTable struct {
	stamp  any
	byName map[string]Group
	byID   map[int]Group
	all    []Group
}

// passwd gives the users; a host without the file has none.
func (a *accounts) passwd() (userTable, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text, stamp, ok, err := a.read(passwdFile, a.users.stamp)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return userTable{}, err
	}
	if !ok && err == nil {
		return a.users, nil
	}
	a.users = userTable{stamp: stamp, byName: map[string]User{}, byID: map[int]User{}}
	for _, u := range ParsePasswd(text) {
		setFirst(a.users.byName, u.Name, u)
		setFirst(a.users.byID, u.UID, u)
	}
	return a.users, nil
}

// group gives the groups; a host without the file has none.
func (a *accounts) group() (groupTable, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text, stamp, ok, err := a.read(groupFile, a.groups.stamp)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return groupTable{}, err
	}
	if !ok && err == nil {
		return a.groups, nil
	}
	a.groups = groupTable{stamp: stamp, byName: map[string]Group{}, byID: map[int]Group{}, all: ParseGroup(text)}
	for _, g := range a.groups.all {
		setFirst(a.groups.byName, g.Name, g)
		setFirst(a.groups.byID, g.GID, g)
	}
	return a.groups, nil
}

// setFirst keeps the first of several entries, as lookups do.
func setFirst[K comparable, V any](m map[K]V, k K, v V) {
	if _, there := m[k]; !there {
		m[k] = v
	}
}

// User is Accounts.User.
func (a *accounts) User(name string) (User, error) {
	t, err := a.passwd()
	return lookup(t.byName, name, err, "user", name)
}

// UserID is Accounts.UserID.
func (a *accounts) UserID(uid int) (User, error) {
	t, err := a.passwd()
	return lookup(t.byID, uid, err, "user", strconv.Itoa(uid))
}

// Group is Accounts.Group.
func (a *accounts) Group(name string) (Group, error) {
	t, err := a.group()
	return lookup(t.byName, name, err, "group", name)
}

// GroupID is Accounts.GroupID.
func (a *accounts) GroupID(gid int) (Group, error) {
	t, err := a.group()
	return lookup(t.byID, gid, err, "group", strconv.Itoa(gid))
}

func lookup[K comparable, V any](m map[K]V, k K, err error, kind, name string) (V, error) {
	v, ok := m[k]
	if err == nil && !ok {
		err = &noAccount{kind, name}
	}
	return v, err
}

// memberships lists the groups of a user: its own first, then those that have
// it as a member.
func (a *accounts) memberships(u User) ([]int, error) {
	t, err := a.group()
	ids := []int{u.GID}
	for _, g := range t.all {
		for _, m := range g.Members {
			if m == u.Name && g.GID != u.GID {
				ids = append(ids, g.GID)
			}
		}
	}
	return ids, err
}

// readText reads a whole file.
func readText(open func() (io.ReadCloser, error)) (string, error) {
	f, err := open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

// newTreeAccounts looks up accounts in the files of a tree.
func newTreeAccounts(t *tree) *accounts {
	return &accounts{read: func(path string, before any) (string, any, bool, error) {
		t.mu.RLock()
		at, err := t.find(path, true)
		t.mu.RUnlock()
		if err != nil {
			return "", nil, false, err
		}
		// A written file has a node of its own for each content.
		if at.node != nil && any(at.node) == before {
			return "", before, false, nil
		}
		open, err := t.opener(path)
		if err != nil {
			return "", nil, false, err
		}
		text, err := readText(open)
		return text, at.node, true, err
	}}
}
