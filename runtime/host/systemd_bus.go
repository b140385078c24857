package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/fault"
)

// buses are the connections to the systemds of a machine: the machine's own and
// those of accounts. One that nobody uses for a while is closed.
type buses struct {
	mu   sync.Mutex
	open map[string]*bus // by the account
}

// busIdle is how long a connection is kept that nobody uses.
const busIdle = 5 * time.Second

// busPatience is how long systemd may take to answer a question.
const busPatience = time.Minute

// errSilent says that it took longer.
var errSilent = errors.New("systemd does not answer")

// bus is a connection to one systemd.
type bus struct {
	*systemd.Conn
	calls  *dbus.Conn      // for what go-systemd has no function
	closed <-chan struct{} // closed when it is broken
	uses   int
	close  *time.Timer
}

// init gives the Init of the machine's systemd, or of an account's.
func (b *buses) init(l *Local, user string) (Init, error) {
	s := &systemdInit{host: l, buses: b, user: user}
	if user != "" {
		u, err := l.User(user)
		if err != nil {
			return nil, err
		}
		s.uid = u.UID
		socket := s.socket()
		if _, err := os.Lstat(socket); err != nil {
			return nil, &NotRunning{"systemd of " + user, fmt.Sprintf(
				"%s is not there; loginctl enable-linger %s lets it run without a login", socket, user)}
		}
	}
	return s, nil
}

// use gives the connection for s, and makes it if need be. The caller calls done.
func (b *buses) use(s *systemdInit) (*bus, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.open[s.user]
	if c != nil && !c.Connected() {
		delete(b.open, s.user)
		c.Close()
		c = nil
	}
	if c == nil {
		var err error
		if c, err = connect(s); err != nil {
			return nil, err
		}
		if b.open == nil {
			b.open = map[string]*bus{}
		}
		b.open[s.user] = c
	}
	c.uses++
	if c.close != nil {
		c.close.Stop()
	}
	return c, nil
}

// done ends a use.
func (b *buses) done(s *systemdInit, c *bus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.uses--; c.uses > 0 {
		return
	}
	c.close = time.AfterFunc(busIdle, fault.Guard(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if c.uses == 0 {
			if b.open[s.user] == c {
				delete(b.open, s.user)
			}
			c.Close()
		}
	}))
}

// connect opens a connection: as root, and to the systemd of an account, to the
// socket that systemd itself listens on, which needs no bus between; else to the bus.
func connect(s *systemdInit) (*bus, error) {
	c := &bus{}
	dial := func() (conn *dbus.Conn, err error) {
		if s.user == "" && os.Geteuid() != 0 {
			return dbus.ConnectSystemBus()
		}
		uid := os.Geteuid()
		if s.user != "" {
			uid = s.uid
		}
		stream, err := dialAs(s.socket(), uid)
		if err != nil {
			return nil, err
		}
		return greet(stream, uid, busPatience)
	}
	conn, err := systemd.NewConnection(func() (*dbus.Conn, error) {
		conn, err := dial()
		if err == nil { // the first one is for calls, the second one for signals
			c.calls, c.closed = cmp.Or(c.calls, conn), conn.Context().Done()
		}
		return conn, err
	})
	if err != nil {
		return nil, fmt.Errorf("systemd cannot be reached: %w", err)
	}
	c.Conn = conn
	return c, nil
}

// greet begins to talk with a systemd. One that has crashed still holds its socket, and
// says nothing.
func greet(stream *os.File, uid int, patience time.Duration) (*dbus.Conn, error) {
	if err := stream.SetDeadline(time.Now().Add(patience)); err != nil {
		stream.Close()
		return nil, err
	}
	conn, err := dbus.NewConn(stream)
	if err != nil {
		stream.Close()
		return nil, err
	}
	if err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(uid))}); err == nil {
		err = stream.SetDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = errSilent
		}
		return nil, err
	}
	return conn, nil
}

// dialAs connects to a socket as a user, so that the other end sees it is that one.
// Root takes on the user's id for that moment, in one thread.
func dialAs(path string, uid int) (*os.File, error) {
	if me := os.Geteuid(); me != 0 && uid != me {
		return nil, fmt.Errorf("only root can reach the services of another account: %w", fs.ErrPermission)
	}
	type answer struct {
		fd  int
		err error
	}
	answers := make(chan answer)
	fault.Go(func() {
		runtime.LockOSThread()
		as := func(uid int) error {
			const stays = ^uintptr(0)
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, stays, uintptr(uid), stays); errno != 0 {
				return errno
			}
			return nil
		}
		fd, err := -1, as(uid)
		if err == nil {
			fd, err = connectUnix(path)
			if as(os.Getuid()) == nil {
				runtime.UnlockOSThread() // else the thread ends with this function
			}
		}
		answers <- answer{fd, err}
	})
	a := <-answers
	if a.err != nil {
		return nil, &fs.PathError{Op: "connect", Path: path, Err: a.err}
	}
	return os.NewFile(uintptr(a.fd), path), nil
}

func connectUnix(path string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// withBus calls f with a connection.
func (s *systemdInit) withBus(ctx context.Context, f func(*bus) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c, err := s.buses.use(s)
	if err != nil {
		return err
	}
	defer s.buses.done(s, c)
	return f(c)
}
