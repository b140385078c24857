package runtime_test

import (
	"context"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// kernel is a machine in whose /proc no file can be put.
type kernel struct{ *host.Memory }

func (k kernel) WriteFile(ctx context.Context, path string, c host.Content, m host.Meta) error {
	if strings.HasPrefix(path, "/proc/") {
		return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOENT}
	}
	return k.Memory.WriteFile(ctx, path, c, m)
}

// A parameter of the kernel is put back in place.
func TestConfirmPutsBackTheKernel(t *testing.T) {
	g := newGate(t)
	for _, dir := range []string{"/etc", "/etc/sysctl.d", "/proc", "/proc/sys", "/proc/sys/kernel", "/proc/sys/net", "/proc/sys/net/ipv4"} {
		mkdir(t, g, dir)
	}
	write(t, g, "/proc/sys/kernel/osrelease", "6.1\n")
	write(t, g, "/proc/sys/net/ipv4/ip_forward", "0\n")
	apply(t, kernel{g.Memory}, `block "gate" {
		confirm {
			timeout = "1ms"
			command = ["never"]
		}
		sysctl "net.ipv4.ip_forward" {
			value = "1"
		}
	}
	`)
	if is := content(t, g, "/proc/sys/net/ipv4/ip_forward"); is != "0\n" {
		t.Errorf("the kernel has %q", is)
	}
}
