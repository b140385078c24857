package become

import (
	"context"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
)

// machine is the host as another account acts on it: what is asked of it, the other
// process does. What is the same for all accounts is asked of this process's host.
type machine struct {
	host.Limited // in what is not about the account
	*link
	local    host.Host
	hello    hello
	run      string
	noFollow bool
}

// ask makes a call that is about a path.
func (m *machine) ask(ctx context.Context, c call) (*reply, []byte, error) {
	return m.callWith(ctx, c, callOptions{})
}

func (m *machine) callWith(ctx context.Context, c call, t callOptions) (*reply, []byte, error) {
	c.Run, c.Part, c.NoFollow = m.run, host.PartOf(ctx), m.noFollow
	return m.call(ctx, &c, t)
}

// ForRun is host.Runner.ForRun.
func (m *machine) ForRun(id string) host.Host {
	other := *m
	other.run = id
	return &other
}

// NoFollow is host.NoFollower.NoFollow.
func (m *machine) NoFollow() host.Host {
	other := *m
	other.noFollow = true
	return &other
}

// Running tells whether it is the machine that runs; see host.Running.
func (m *machine) Running() bool { return m.hello.Running }

// StrayProcesses is host.ProcessSweeper.StrayProcesses.
func (m *machine) StrayProcesses(run, part string) []int { return m.local.StrayProcesses(run, part) }

// EndStrayProcesses is host.ProcessSweeper.EndStrayProcesses.
func (m *machine) EndStrayProcesses(run, part string) error {
	return m.local.EndStrayProcesses(run, part)
}

// Actor is host.Actor.Actor.
func (m *machine) Actor() (uid, gid int) { return m.hello.UID, m.hello.GID }

// TempName is host.Namer.TempName.
func (m *machine) TempName() string {
	return m.local.ForRun(m.run).TempName()
}

// Now is host.Clock.Now.
func (m *machine) Now() time.Time { return host.Now(m.local) }

// Sleep is host.Clock.Sleep.
func (m *machine) Sleep(ctx context.Context, d time.Duration) error {
	return host.Sleep(ctx, m.local, d)
}

// User is host.Accounts.User.
func (m *machine) User(name string) (host.User, error) { return m.local.User(name) }

// UserID is host.Accounts.UserID.
func (m *machine) UserID(uid int) (host.User, error) { return m.local.UserID(uid) }

// Group is host.Accounts.Group.
func (m *machine) Group(name string) (host.Group, error) { return m.local.Group(name) }

// GroupID is host.Accounts.GroupID.
func (m *machine) GroupID(gid int) (host.Group, error) { return m.local.GroupID(gid) }

// Lstat is host.Reader.Lstat.
func (m *machine) Lstat(path string) (host.Info, error) {
	r, _, err := m.ask(context.Background(), call{Op: "lstat", Path: text(path)})
	if err != nil {
		return host.Info{}, err
	}
	return r.Info.host(), nil
}

// ReadDir is host.Reader.ReadDir.
func (m *machine) ReadDir(path string) ([]host.Entry, error) {
	r, _, err := m.ask(context.Background(), call{Op: "readdir", Path: text(path)})
	return r.list(), err
}

func (r *reply) list() []host.Entry {
	var list []host.Entry
	for _, e := range r.Entries {
		list = append(list, host.Entry{Name: string(e.Name), Kind: e.Kind})
	}
	return list
}

// ReadLink is host.Reader.ReadLink.
func (m *machine) ReadLink(path string) (string, error) {
	r, _, err := m.ask(context.Background(), call{Op: "readlink", Path: text(path)})
	return string(r.Text), err
}

// Open is host.Reader.Open.
func (m *machine) Open(path string) (io.ReadCloser, error) {
	return m.newFile(m.ask(context.Background(), call{Op: "open", Path: text(path)}))
}

// OpenNoFollow is host.NoFollowOpener.OpenNoFollow.
func (m *machine) OpenNoFollow(path string) (io.ReadCloser, host.Info, error) {
	r, data, err := m.ask(context.Background(), call{Op: "open_still", Path: text(path)})
	f, err := m.newFile(r, data, err)
	return f, r.Info.host(), err
}

func (m *machine) newFile(r *reply, data []byte, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, err
	}
	return &file{machine: m, number: r.Open, rest: data, atEnd: r.End}, nil
}

// file is a file that the other process has opened.
type file struct {
	*machine
	number uint64
	rest   []byte
	atEnd  bool
	err    error
}

// Read gives the next bytes.
func (f *file) Read(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	for len(f.rest) == 0 && f.err == nil {
		if f.atEnd {
			return 0, io.EOF
		}
		var r *reply
		r, f.rest, f.err = f.ask(context.Background(), call{Op: "read", File: f.number})
		f.atEnd = r.End
	}
	if f.err != nil {
		return 0, f.err
	}
	n := copy(data, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close closes it. One that was read to its end is closed already.
func (f *file) Close() error {
	if f.atEnd {
		return nil
	}
	f.atEnd = true
	_, _, err := f.ask(context.Background(), call{Op: "close", File: f.number})
	return err
}

// writeCall is a call with content, and what goes with it.
func writeCall(c call, of host.Content) (call, callOptions) {
	if s, inline := of.Inline(); inline && len(s) <= maxInline {
		c.Content = &content{Inline: true}
		return c, callOptions{payload: []byte(s)}
	}
	c.Content = &content{Size: of.Size(), SHA256: of.Sum()}
	return c, callOptions{content: &of}
}

// maxInline is how much goes with a call.
const maxInline = 1 << 20

// WriteFile is host.Writer.WriteFile.
func (m *machine) WriteFile(ctx context.Context, path string, c host.Content, meta host.Meta) error {
	call, options := writeCall(call{Op: "write", Path: text(path), Meta: meta}, c)
	_, _, err := m.callWith(ctx, call, options)
	return err
}

// Mkdir is host.Writer.Mkdir.
func (m *machine) Mkdir(path string, meta host.Meta) error {
	_, _, err := m.ask(context.Background(), call{Op: "mkdir", Path: text(path), Meta: meta})
	return err
}

// Symlink is host.Writer.Symlink.
func (m *machine) Symlink(target, path string, meta host.Meta) error {
	_, _, err := m.ask(context.Background(), call{Op: "symlink", Path: text(path), Target: text(target), Meta: meta})
	return err
}

// SetMeta is host.Writer.SetMeta.
func (m *machine) SetMeta(path string, meta host.Meta) error {
	_, _, err := m.ask(context.Background(), call{Op: "set_meta", Path: text(path), Meta: meta})
	return err
}

// Remove is host.Writer.Remove.
func (m *machine) Remove(path string) error {
	_, _, err := m.ask(context.Background(), call{Op: "remove", Path: text(path)})
	return err
}

// Tune is host.Machine.Tune.
func (m *machine) Tune(path, value string) error {
	_, _, err := m.ask(context.Background(), call{Op: "tune", Path: text(path), Target: text(value)})
	return err
}

// Sync is host.Syncer.Sync. What a process has written that is no more, this one makes
// durable: that an account has ended it does not stop what others do.
func (m *machine) Sync() error {
	_, _, err := m.ask(context.Background(), call{Op: "sync"})
	if m.connectionError() == nil {
		return err
	}
	return m.flush(unix.Sync)
}

// Credentials is host.Permissions.Credentials.
func (m *machine) Credentials() host.Credentials { return m.hello.Credentials }

// Access is host.Permissions.Access. Where it cannot be asked, the act will say so.
func (m *machine) Access(path string) host.Access {
	r, _, err := m.ask(context.Background(), call{Op: "access", Path: text(path)})
	if err != nil || r.Access == nil {
		return host.Access{Names: true}
	}
	return *r.Access
}

// Run is host.Processes.Run.
func (m *machine) Run(ctx context.Context, c host.Command) (host.Result, error) {
	return m.start(ctx, c, &command{})
}

// Query is host.Processes.Query.
func (m *machine) Query(ctx context.Context, q host.Query) (host.Result, error) {
	return m.start(ctx, q.Command, &command{Query: true, Reads: textsOf(q.Reads), Keep: q.Keep})
}

func (m *machine) start(ctx context.Context, c host.Command, to *command) (host.Result, error) {
	to.Argv, to.Env, to.Dir, to.User = textsOf(c.Argv), textsOf(c.Env), text(c.Dir), text(c.User)
	to.MaxOutput, to.Watch = c.MaxOutput, c.Watch != nil
	r, data, err := m.callWith(ctx, call{Op: "run", Command: to}, callOptions{payload: c.Stdin, watch: c.Watch})
	cut := min(max(r.Stdout, 0), len(data))
	return host.Result{ExitCode: r.ExitCode, Stdout: data[:cut:cut], Stderr: data[cut:], Truncated: r.Cut}, err
}
