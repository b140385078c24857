package mount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/fstab"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// sourceThere is an error where what is to be mounted is not on the host, so that a
// plan does not promise what mount(8) will refuse, and nothing is unmounted for it.
func sourceThere(ctx context.Context, h host.Host, want Mount) error {
	source := *want.Source
	switch {
	case bind(want.Options):
		if !path.IsAbs(source) {
			return states.InvalidAttribute("source", fmt.Sprintf("%q is no absolute path, and cannot be bound", source),
				"write the path of a directory or file of this host")
		}
		return onHost(h, source, "file or directory", "declare it in a part that comes before this one")
	case slices.Contains(want.Options, "loop") && path.IsAbs(source):
		return onHost(h, source, "file", "declare it in a part that comes before this one")
	case strings.HasPrefix(source, "/dev/"):
		return onHost(h, source, "device", noDevice)
	case fstab.Device(source) != source:
		return taggedThere(ctx, h, source)
	}
	return nil
}

const noDevice = "see lsblk -f for what there is; with mounted = false it is only written for the next boot"

func onHost(h host.Reader, source, what, hint string) error {
	_, err := h.Lstat(fstab.RealPath(h, source))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return &diag.HintError{Err: fmt.Errorf("source: this host has no %s %s: %w", what, source, err), Hint: hint}
}

// taggedThere looks for a device by UUID=… or its like: by the link that udev makes
// and, since not every machine has udev, by what mount(8) itself goes by.
func taggedThere(ctx context.Context, h host.Host, source string) error {
	if _, err := h.Lstat(fstab.Device(source)); err == nil {
		return nil
	}
	r, err := h.Query(ctx, host.Query{Command: host.Command{Argv: []string{"findfs", source}, Env: []string{"LC_ALL=C.UTF-8"}}})
	switch {
	case errors.Is(err, host.ErrUnforeseeable):
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		if _, err := h.Lstat("/dev/disk"); err != nil {
			return nil // nobody can tell
		}
	case err != nil:
		return err
	case r.ExitCode != 1:
		return nil // found, or a question that it does not understand
	}
	return &diag.HintError{Err: fmt.Errorf("source: this host has no device with %s", source), Hint: noDevice}
}

// helper is a program that mount(8) needs for file systems that the kernel alone
// cannot mount.
type helper struct {
	program, hint string
	unneededFor   []string // options with which the kernel does it alone
}

func helpers() map[string]helper {
	nfs := helper{"mount.nfs", "install nfs-common (Debian, Ubuntu) or nfs-utils before it", []string{"addr"}}
	cifs := helper{"mount.cifs", "install cifs-utils before it", []string{"ip", "addr"}}
	return map[string]helper{"nfs": nfs, "nfs4": nfs, "cifs": cifs, "smb3": cifs}
}

// helperThere is an error where the program is missing that mounts the type.
func helperThere(h host.Reader, want Mount) error {
	if want.Type == nil || bind(want.Options) {
		return nil
	}
	need, ok := helpers()[*want.Type]
	if !ok || slices.ContainsFunc(need.unneededFor, func(key string) bool { _, given := value(want.Options, key); return given }) {
		return nil
	}
	for _, dir := range []string{"/sbin", "/usr/sbin", "/bin", "/usr/bin"} {
		if _, err := h.Lstat(path.Join(dir, need.program)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return &diag.HintError{
		Err: fmt.Errorf("fstype: this host has no %s, without which it cannot mount %s", need.program, *want.Type), Hint: need.hint,
	}
}
