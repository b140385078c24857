package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/host/links"
)

// Shadow is a copy-on-write view of another host, on which a plan is carried
// out: writes stay in memory, and what they did not touch is read from the
// base each time. What only the real host can know is ErrUnforeseeable.
//
// Content that is written is not read. What the acting user may not write is written
// all the same, and noted: see Refusals.
type Shadow struct {
	*tree
	host     Host
	accounts *accounts
	untraced *Shadow // of a traced one: what it is a record of

	*shadowMachine
}

// shadowMachine is what was done here to what a machine has beside its files.
type shadowMachine struct {
	linksMu  sync.Mutex
	links    *links.Overlay // nil: nobody has asked for them
	services shadowServices
}

// NewShadow makes a shadow of a host, which may be a shadow itself. The base
// is never written to.
func NewShadow(base Host) *Shadow {
	s := &Shadow{tree: newTree(base, base.Actor), host: base, shadowMachine: &shadowMachine{}}
	s.noteRefusals(base)
	s.accounts = newTreeAccounts(s.tree)
	return s
}

// As gives this shadow as another account sees it: base is the same machine as that
// account acts on it. What is written to either is seen in both.
func (s *Shadow) As(base Host) *Shadow {
	other := &Shadow{tree: &tree{base: base, actor: base.Actor, overlay: s.overlay}, host: base, shadowMachine: s.shadowMachine}
	other.accounts = newTreeAccounts(other.tree)
	other.noteRefusals(base)
	return other
}

// NoFollow is NoFollower.NoFollow.
func (s *Shadow) NoFollow() Host { return s.noFollow() }

func (s *Shadow) noFollow() *Shadow {
	base := s.host.NoFollow()
	return &Shadow{tree: s.tree.noFollow(base), host: base, accounts: s.accounts, untraced: s.untraced, shadowMachine: s.shadowMachine}
}

// OpenNoFollow is NoFollowOpener.OpenNoFollow.
func (s *Shadow) OpenNoFollow(path string) (io.ReadCloser, Info, error) {
	return openNoFollow(s.noFollow(), path)
}

// ForRun is Runner.ForRun: nothing of it outlives the program.
func (s *Shadow) ForRun(string) Host { return s }

// TempName is Namer.TempName.
func (s *Shadow) TempName() string { return tempName("") }

// Sync is Syncer.Sync: there is nothing to sync.
func (s *Shadow) Sync() error { return nil }

// StrayProcesses is ProcessSweeper.StrayProcesses: the base's.
func (s *Shadow) StrayProcesses(run, part string) []int { return s.host.StrayProcesses(run, part) }

// EndStrayProcesses is ErrUnforeseeable: nothing is ended.
func (s *Shadow) EndStrayProcesses(run, part string) error { return ErrUnforeseeable }

func (s *Shadow) machine() (Reader, bool) {
	if r, live := s.host.machine(); r != nil {
		return r, live
	}
	return s, false
}

// Fork makes a shadow of this shadow: what is written there is not seen here.
func (s *Shadow) Fork() *Shadow { return NewShadow(s) }

// Actor gives the acting user of the base.
func (s *Shadow) Actor() (uid, gid int) { return s.tree.actor() }

// HasChanged reports whether what the path leads to, or anything below it, was
// written here, so that the base cannot know it. A path that was written and
// put back counts. A service that was started or stopped here may have changed
// anything.
func (s *Shadow) HasChanged(path string) bool {
	return s.changed(path) || path == "/" && s.services.hasActed()
}

// View gives the host that a part acts on in a plan behind something that cannot be foreseen.
// Of what is uncertain for that it answers no Query, and the directories that are missing
// on the way to what is written are made where they may be there by then. The function is
// asked without a lock of the host. Nil: all is certain.
func (s *Shadow) View(uncertain func(Look) bool) Host {
	if uncertain == nil {
		return s
	}
	return doubtfulView{s, uncertain}
}

// Relinks counts the symbolic links that have come or gone here: as long as it stays the
// same, so does what Way gives.
func (s *Shadow) Relinks() int64 { return s.relinks.Load() }

// Everything is for View: of nothing is anything known.
func Everything(Look) bool { return true }

// WriteFile is Writer.WriteFile, in memory.
func (s *Shadow) WriteFile(ctx context.Context, path string, c Content, m Meta) error {
	return s.writeFile(ctx, path, c, m, false)
}

// Mkdir is Writer.Mkdir, in memory.
func (s *Shadow) Mkdir(path string, m Meta) error { return s.mkdir(path, m, false) }

// Symlink is Writer.Symlink, in memory.
func (s *Shadow) Symlink(target, path string, m Meta) error {
	return s.symlink(target, path, m, false)
}

// SetMeta is Writer.SetMeta, in memory.
func (s *Shadow) SetMeta(path string, m Meta) error { return s.setMeta(path, m, false) }

// Run is ErrUnforeseeable: nothing is started. That the acting user may not start it is
// noted.
func (s *Shadow) Run(_ context.Context, c Command) (Result, error) {
	s.noteProgram(c)
	if !c.Check {
		s.trace.act()
	}
	return Result{}, ErrUnforeseeable
}

// Query lets the program look at the base while nothing that it reads differs
// here; else it is ErrUnanswerable.
func (s *Shadow) Query(ctx context.Context, q Query) (Result, error) {
	s.traceQuery(q)
	for _, path := range q.Reads {
		if s.HasChanged(path) {
			return Result{}, fmt.Errorf("%w, which change %s", ErrUnanswerable, path)
		}
	}
	return s.host.Query(ctx, q)
}

// traceQuery tells what a query looks at, and gives that.
func (s *Shadow) traceQuery(q Query) []Look {
	var looks []Look
	for _, name := range q.Reads {
		looks = append(looks, Look{Name: name, All: true})
	}
	if len(q.Argv) > 0 {
		looks = append(looks, s.program(q.Argv[0]))
	}
	for _, l := range looks {
		s.trace.add(l)
	}
	return looks
}

// ProgramDirs are the directories in which a program is looked for by its name, each with a
// slash at its end.
func ProgramDirs() []string {
	return []string{"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"}
}

// program gives the look at a program, at the place where it is found.
func (s *Shadow) program(name string) Look {
	if strings.Contains(name, "/") {
		_, err := s.peek(name)
		return Look{Kind: LookProgram, Name: name, Missing: isMissing(err)}
	}
	for _, dir := range ProgramDirs() {
		if _, err := s.peek(dir + name); err == nil {
			return Look{Kind: LookProgram, Name: dir + name}
		}
	}
	return Look{Kind: LookProgram, Name: name, Missing: true}
}

// peek is Lstat without a trace.
func (s *Shadow) peek(path string) (Info, error) {
	if s.untraced != nil {
		return s.untraced.Lstat(path)
	}
	return s.Lstat(path)
}

// User is Accounts.User: by /etc/passwd, if it was written here.
func (s *Shadow) User(name string) (u User, err error) {
	defer func() { s.trace.lookAt(LookUser, name, err) }()
	if !s.changed(passwdFile) {
		return s.host.User(name)
	}
	return fromBase(s,
		func(a *accounts) (User, error) { return a.User(name) },
		func() (User, error) { return s.host.User(name) })
}

// UserID is Accounts.UserID: by /etc/passwd, if it was written here.
func (s *Shadow) UserID(uid int) (u User, err error) {
	defer func() { s.traceNumber(LookUser, u.Name, uid, err) }()
	if !s.changed(passwdFile) {
		return s.host.UserID(uid)
	}
	return fromBase(s,
		func(a *accounts) (User, error) { return a.UserID(uid) },
		func() (User, error) { return s.host.UserID(uid) })
}

// traceNumber tells of a look at the account of a number.
func (s *Shadow) traceNumber(kind LookKind, name string, number int, err error) {
	if err != nil {
		kind, name = LookNumber, strconv.Itoa(number)
	}
	s.trace.lookAt(kind, name, err)
}

// Group is Accounts.Group: by /etc/group, if it was written here.
func (s *Shadow) Group(name string) (g Group, err error) {
	defer func() { s.trace.lookAt(LookGroup, name, err) }()
	if !s.changed(groupFile) {
		return s.host.Group(name)
	}
	return fromBase(s,
		func(a *accounts) (Group, error) { return a.Group(name) },
		func() (Group, error) { return s.host.Group(name) })
}

// GroupID is Accounts.GroupID: by /etc/group, if it was written here.
func (s *Shadow) GroupID(gid int) (g Group, err error) {
	defer func() { s.traceNumber(LookGroup, g.Name, gid, err) }()
	if !s.changed(groupFile) {
		return s.host.GroupID(gid)
	}
	return fromBase(s,
		func(a *accounts) (Group, error) { return a.GroupID(gid) },
		func() (Group, error) { return s.host.GroupID(gid) })
}

// fromBase looks into the changed file, and then for accounts that the base
// knows from elsewhere (LDAP and the like): those that the base's own file
// does not hold. One that it holds was removed here.
func fromBase[T any](s *Shadow, here func(*accounts) (T, error), below func() (T, error)) (T, error) {
	account, err := here(s.accounts)
	if !errors.Is(err, fs.ErrNotExist) {
		return account, err
	}
	read := func(path string, _ any) (string, any, bool, error) {
		text, err := readText(func() (io.ReadCloser, error) { return s.host.Open(path) })
		return text, nil, true, err
	}
	if _, inFile := here(&accounts{read: read}); inFile == nil {
		return account, err
	}
	return below()
}
