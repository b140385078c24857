package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Init is Machine.Init. What the machine runs is asked: systemd by its own bus,
// OpenRC and SysV by their programs. Where nothing runs, as below a root, there are
// the files.
func (l *Local) Init(ctx context.Context, user string) (Init, error) {
	if l.root == nil && exists(l, "/run/systemd/system") {
		return l.buses.init(l, user)
	}
	system := initSystem(l)
	if l.root == nil {
		switch {
		case exists(l, "/run/openrc/softlevel"):
			system = "openrc"
		case isSysV(l) && exists(l, "/etc/init.d"):
			system = "sysv"
		}
	}
	switch {
	case system == "":
		return nil, fmt.Errorf("an init system (systemd, OpenRC or SysV): %w", ErrUnsupported)
	case system == "systemd":
		return UnitFiles(l, user)
	case user != "":
		return nil, fmt.Errorf("services of an account's own, with %s: %w", system, ErrUnsupported)
	}
	s := newScripts(system, l)
	switch {
	case l.root != nil:
		s.stoppedReason = &NotRunning{system, "this is a tree below --root"}
	case system == "openrc" && !exists(l, "/run/openrc/softlevel"):
		s.stoppedReason = &NotRunning{system, "/run/openrc/softlevel is not there"}
	}
	return s, nil
}

// initSystem tells by the files which init system a host has; "" is none.
func initSystem(h Reader) string {
	for _, sign := range []struct{ path, system string }{
		{"/usr/lib/systemd/systemd", "systemd"}, {"/lib/systemd/systemd", "systemd"},
		{"/sbin/openrc-run", "openrc"}, {"/usr/sbin/openrc-run", "openrc"},
		{"/usr/lib/systemd/system", "systemd"}, {"/lib/systemd/system", "systemd"}, {"/etc/systemd/system", "systemd"},
		{"/etc/init.d", "sysv"},
	} {
		if exists(h, sign.path) {
			return sign.system
		}
	}
	return ""
}

// isSysV reports whether the machine's first process calls itself as that of SysV does.
func isSysV(r Reader) bool {
	name, err := readText(func() (io.ReadCloser, error) { return r.Open("/proc/1/comm") })
	return err == nil && strings.TrimSpace(name) == "init"
}

// exists reports whether something stands at the path.
func exists(r Reader, path string) bool {
	_, err := r.Lstat(path)
	return err == nil
}

// ErrLost is wrapped where the connection to what was asked to do something is lost
// before the answer: nobody knows how it ended.
var ErrLost = errors.New("the connection was lost before it was known how it ended")

// ServiceError says that a service did not do what it was told.
type ServiceError struct {
	Name string
	Err  error
	Log  []byte // what its log and the init system say of it
}

// Error names the service and the reason.
func (e *ServiceError) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap gives the reason.
func (e *ServiceError) Unwrap() error { return e.Err }

// forbiddenError is the error that the acting user may not do something.
func forbiddenError(err error) error { return fmt.Errorf("%w (%w)", err, fs.ErrPermission) }
