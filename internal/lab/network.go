package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A run's network is a namespace of the run's name with a bridge in it. Each host
// is joined to it by a pair of devices, of which the host's own is eth0. They
// vanish with the host, and the namespace with the run.
const (
	gateway    = "10.77.0.1" // the run itself
	bridge     = "br0"
	namespaces = "/run/netns"
)

// address is the host's with a number from 1 on, and hardware the one of its
// device, which a reboot does not change.
func address(number int) string { return "10.77.0." + strconv.Itoa(10+number) }

func hardware(number int) string { return fmt.Sprintf("02:00:0a:4d:00:%02x", 10+number) }

// openNetwork makes the run's network, with a server of names in it.
func (r *Run) openNetwork(ctx context.Context) error {
	if err := quietly(ctx, "ip", "netns", "add", r.name); err != nil {
		return err
	}
	err := r.links(ctx,
		// An address of its own: else it is one of its ports', and changes with them.
		"link add "+bridge+" address 02:00:0a:4d:00:01 type bridge",
		"addr add "+gateway+"/24 dev "+bridge,
		"link set "+bridge+" up",
		"link set lo up")
	if err != nil {
		return err
	}
	if err := r.serveNames(); err != nil {
		return err
	}
	// What programs of the run resolve names with, whatever the machine does.
	return os.WriteFile(filepath.Join(r.dir, "resolv.conf"), []byte("nameserver "+gateway+"\n"), 0o644)
}

// removeNetwork removes a run's namespace, if there is one; the devices in it go
// with it.
func removeNetwork(run string) error {
	path := filepath.Join(namespaces, run)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return quietly(context.Background(), "ip", "netns", "del", run)
}

// links carries out commands of ip in the run's namespace.
func (r *Run) links(ctx context.Context, commands ...string) error {
	return ip(ctx, []string{"-n", r.name}, commands)
}

func ip(ctx context.Context, options, commands []string) error {
	cmd := exec.CommandContext(ctx, "ip", append(options, "-batch", "-")...)
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("lab: ip: %w\n%s\n%s", err, strings.Join(commands, "\n"), bytes.TrimSpace(out))
	}
	return nil
}

// join gives the booting host its device and address.
func (h *Host) join(ctx context.Context) error {
	// The kernel takes its time over the device of a host that had the number before,
	// or of this one before it was started anew: mostly there is none left.
	_ = h.run.links(ctx, "link del "+h.device)
	err := h.run.links(ctx,
		fmt.Sprintf("link add %s type veth peer name eth0 address %s netns %d", h.device, h.hardware, h.leader),
		"link set "+h.device+" master "+bridge+" up")
	if err != nil {
		return err
	}
	argv := []string{"-t", strconv.Itoa(h.leader), "-n", "--", "ip", "-batch", "-"}
	cmd := exec.CommandContext(ctx, "nsenter", argv...)
	cmd.Stdin = strings.NewReader("addr add " + h.Address + "/24 dev eth0\nlink set eth0 up\nlink set lo up\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("lab: join %s to the network: %w\n%s", h.Name, err, out)
	}
	return nil
}

// Cut takes the host off the network, as if its cable were pulled.
func (h *Host) Cut(ctx context.Context) error {
	return h.run.links(ctx, "link set "+h.device+" down")
}

// Join puts a host that was cut off back on the network.
func (h *Host) Join(ctx context.Context) error {
	return h.run.links(ctx, "link set "+h.device+" up")
}

// Slow makes the host's line slow both ways, until it is called with zeros: each
// packet is late by a delay, and so many bits pass in a second; 0 is no limit. It
// needs the kernel's netem for a delay, and is an error without it.
func (h *Host) Slow(ctx context.Context, delay time.Duration, bitsPerSecond int) error {
	inside := []string{"nsenter", "-t", strconv.Itoa(h.leader), "-n", "--", "tc"}
	for tc, device := range map[*[]string]string{{"tc", "-n", h.run.name}: h.device, &inside: "eth0"} {
		if err := slow(ctx, *tc, device, delay, bitsPerSecond); err != nil {
			return err
		}
	}
	return nil
}

func slow(ctx context.Context, tc []string, device string, delay time.Duration, bitsPerSecond int) error {
	args := []string{"qdisc", "replace", "dev", device, "root"}
	switch {
	case delay == 0 && bitsPerSecond == 0:
		args = append(args, "pfifo")
	case delay == 0:
		args = append(args, "tbf", "rate", strconv.Itoa(bitsPerSecond), "burst", "16kb", "latency", "500ms")
	default:
		args = append(args, "netem", "delay", strconv.FormatInt(delay.Microseconds(), 10)+"us")
		if bitsPerSecond > 0 {
			args = append(args, "rate", strconv.Itoa(bitsPerSecond))
		}
	}
	err := quietly(ctx, append(tc, args...)...)
	if err != nil && delay > 0 {
		return fmt.Errorf("lab: a line with a delay needs the kernel's netem (CONFIG_NET_SCH_NETEM): %w", err)
	}
	return err
}

// Exec runs a program of this machine in the run's network, where hosts are
// reached by name, and waits for it: ssh and curl as clients.
func (r *Run) Exec(ctx context.Context, argv ...string) (Result, error) {
	const script = `mount --bind "$1" /etc/resolv.conf || exit; shift; exec "$@"`
	enter := []string{
		"--net=" + filepath.Join(namespaces, r.name), "unshare", "--mount",
		"sh", "-c", script, "sh", filepath.Join(r.dir, "resolv.conf"),
	}
	result, err := collect(ctx, exec.CommandContext(ctx, "nsenter", append(enter, argv...)...))
	if err != nil {
		return result, fmt.Errorf("lab: %s in the network: %w", argv[0], err)
	}
	return result, nil
}

// Dial connects from the run to a host, by its name or address, as
// net.Dialer.DialContext does.
func (r *Run) Dial(ctx context.Context, network, hostport string) (conn net.Conn, err error) {
	name, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	if found := r.addressOf(name); found != "" {
		name = found
	}
	if net.ParseIP(name) == nil {
		return nil, fmt.Errorf("lab: there is no host %q", name)
	}
	err = r.inside(func() (err error) {
		var d net.Dialer
		conn, err = d.DialContext(ctx, network, net.JoinHostPort(name, port))
		return err
	})
	return conn, err
}

// addressOf finds a host by its name; empty when there is none.
func (r *Run) addressOf(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.hosts {
		if strings.EqualFold(h.Name, name) {
			return h.Address
		}
	}
	return ""
}

// inside calls a function on a thread that is in the run's network. What it opens
// there stays there. The thread ends with it.
func (r *Run) inside(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread is not like the others any more
		fd, err := unix.Open(filepath.Join(namespaces, r.name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			done <- fmt.Errorf("lab: the run's network: %w", err)
			return
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("lab: enter the run's network: %w", err)
			return
		}
		done <- do()
	}()
	return <-done
}
