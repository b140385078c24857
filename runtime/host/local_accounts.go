package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// fileStamp tells one content of a file from another.
type fileStamp struct {
	dev, ino     uint64
	size         int64
	mtime, ctime unix.Timespec
}

// readAccounts reads passwd or group, unless it is the one of before.
func (l *Local) readAccounts(path string, before any) (string, any, bool, error) {
	var st unix.Stat_t
	if err := l.stat(path, true, &st); err != nil {
		return "", nil, false, pathError("open", path, err)
	}
	stamp := fileStamp{st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim}
	if before == stamp {
		return "", stamp, false, nil
	}
	text, err := readText(func() (io.ReadCloser, error) { return l.Open(path) })
	return text, stamp, true, err
}

// otherAccounts are those that the files do not hold: of LDAP, of systemd and
// whatever else the machine asks. Answers are kept while the program runs, as
// thousands of files may have one such owner.
type otherAccounts struct {
	mu      sync.Mutex
	answers map[string]string // "passwd\x00NAME" → line; empty: there is none
}

// getent asks the machine's name services, which a program of the C library
// does. A name that there is no entry for is "".
func (l *Local) getent(database, key string) string {
	if l.root != nil || key == "" {
		return ""
	}
	l.otherAccounts.mu.Lock()
	defer l.otherAccounts.mu.Unlock()
	id := database + "\x00" + key
	if line, known := l.otherAccounts.answers[id]; known {
		return line
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	result, err := l.Query(ctx, Query{Command: Command{Argv: []string{"getent", database, "--", key}}})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "" // to be asked again
	}
	line := ""
	if result.ExitCode == 0 {
		line = string(result.Stdout)
	}
	if l.otherAccounts.answers == nil {
		l.otherAccounts.answers = map[string]string{}
	}
	l.otherAccounts.answers[id] = line
	return line
}

// ask looks among other accounts for what the files do not hold.
func ask[T any](l *Local, inFiles T, err error, database, key string, parse func(string) []T, is func(T) bool) (T, error) {
	if _, unknown := errors.AsType[*noAccount](err); !unknown {
		return inFiles, err
	}
	for _, account := range parse(l.getent(database, key)) {
		if is(account) {
			return account, nil
		}
	}
	return inFiles, err
}

// User is Accounts.User. A name of digits is not taken for a number.
func (l *Local) User(name string) (User, error) {
	u, err := l.files.User(name)
	return ask(l, u, err, "passwd", name, ParsePasswd, func(u User) bool { return u.Name == name })
}

// UserID is Accounts.UserID.
func (l *Local) UserID(uid int) (User, error) {
	u, err := l.files.UserID(uid)
	return ask(l, u, err, "passwd", strconv.Itoa(uid), ParsePasswd, func(u User) bool { return u.UID == uid })
}

// Group is Accounts.Group.
func (l *Local) Group(name string) (Group, error) {
	g, err := l.files.Group(name)
	return ask(l, g, err, "group", name, ParseGroup, func(g Group) bool { return g.Name == name })
}

// GroupID is Accounts.GroupID.
func (l *Local) GroupID(gid int) (Group, error) {
	g, err := l.files.GroupID(gid)
	return ask(l, g, err, "group", strconv.Itoa(gid), ParseGroup, func(g Group) bool { return g.GID == gid })
}

// GroupsOf lists the groups of a user, as initgroups(3) does.
func (l *Local) GroupsOf(u User) ([]uint32, error) {
	ids, err := l.files.memberships(u)
	if err != nil {
		return nil, err
	}
	if _, err := l.files.User(u.Name); err != nil {
		// getent prints the name and the numbers.
		for _, word := range strings.Fields(strings.TrimPrefix(l.getent("initgroups", u.Name), u.Name)) {
			if id, err := parseID(word); err == nil {
				ids = append(ids, id)
			}
		}
	}
	groups := make([]uint32, len(ids))
	for i, id := range ids {
		groups[i] = uint32(id)
	}
	return groups, nil
}
