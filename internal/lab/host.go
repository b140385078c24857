package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/internal/child"
)

// bootLimit is how long a host may take to boot; it needs about two seconds, where
// nothing else runs.
const bootLimit = 3 * time.Minute

// endLimit is how long what was killed may take to be gone.
const endLimit = time.Minute

// Host is one booted machine.
type Host struct {
	Name    string
	Address string // in the run's network
	run     *Run
	device  string // the run's end of its line
	// hardware is the address of its own end.
	hardware string
	unit     string // the machine's name: run and host
	leader   int    // its PID 1, seen from here
	nspawn   *exec.Cmd
	lasting  bool          // what is written survives a reboot
	ended    chan struct{} // closed when nspawn has ended
}

// start puts itself into a control group that carries the host's name, and
// becomes systemd-nspawn there: two hosts in one group would see each other's
// units.
const start = `name=$1; shift
for tree in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do
	[ -f "$tree/cgroup.procs" ] || continue
	mkdir -p "$tree/$name" && echo $$ > "$tree/$name/cgroup.procs" || exit 1
done
exec systemd-nspawn "$@"`

// startLasting does so in a mount namespace of its own, with the base and what is
// written over it at $2, and begins again whenever the host reboots (which
// systemd-nspawn tells by the status 133). What is written goes with it.
const startLasting = `root=$2
mount -t tmpfs tmpfs "$root" && mkdir "$root/upper" "$root/work" "$root/merged" || exit 1
mount -t overlay -o "lowerdir=$1,upperdir=$root/upper,workdir=$root/work" overlay "$root/merged" || exit 1
name=$3; shift 3
while :; do
	sh -c "$START" sh "$name" "$@"
	[ $? = 133 ] || rm "$root.again" || exit
done`

// Boot starts a host and waits until systemd calls it running. It is in the run's
// network, and has no way out of that.
func (r *Run) Boot(ctx context.Context, name string) (*Host, error) {
	return r.boot(ctx, name, false)
}

// BootLasting is Boot of a host that can reboot: what is written stays until it is
// powered off. See AwaitReboot.
func (r *Run) BootLasting(ctx context.Context, name string) (*Host, error) {
	return r.boot(ctx, name, true)
}

func (r *Run) boot(ctx context.Context, name string, lasting bool) (*Host, error) {
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	console, err := os.Create(filepath.Join(r.dir, name+".console"))
	if err != nil {
		return nil, err
	}
	defer console.Close()
	h := &Host{Name: name, run: r, unit: r.name + "-" + name, lasting: lasting, ended: make(chan struct{})}
	if err := r.enlist(h); err != nil {
		return nil, err
	}
	if h.nspawn, err = r.command(h); err != nil {
		return nil, err
	}
	h.nspawn.Stdout, h.nspawn.Stderr = console, console
	// Ctrl-C is for the test, which then ends its hosts itself.
	h.nspawn.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := h.nspawn.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = h.nspawn.Wait() // how it ended does not matter
		close(h.ended)
	}()
	if err := h.waitUntilUp(ctx); err != nil {
		said, _ := os.ReadFile(console.Name())
		return nil, errors.Join(fmt.Errorf("lab: boot %s: %w\n%s", name, err, said), h.PowerOff())
	}
	return h, nil
}

// enlist gives a host its place among the run's. Addresses are used again after
// a while only: others may remember whose they were.
func (r *Run) enlist(h *Host) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.hosts, func(other *Host) bool { return other.Name == h.Name }) {
		return fmt.Errorf("lab: there is a host %s already", h.Name)
	}
	for {
		r.booted++
		number := r.booted % 200
		h.Address, h.hardware, h.device = address(number), hardware(number), "v"+strconv.Itoa(number)
		if !slices.ContainsFunc(r.hosts, func(other *Host) bool { return other.Address == h.Address }) {
			break
		}
	}
	r.hosts = append(r.hosts, h)
	return nil
}

// strike takes a host from the run's.
func (r *Run) strike(h *Host) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosts = slices.DeleteFunc(r.hosts, func(other *Host) bool { return other == h })
}

// command is what boots a host.
func (r *Run) command(h *Host) (*exec.Cmd, error) {
	options := []string{
		"-q", "-M", h.unit, "--hostname=" + h.Name,
		"--private-network", "--register=no", "--keep-unit", "--console=pipe", "--timezone=off", "-b",
	}
	if !h.lasting {
		return exec.Command("sh", append([]string{"-c", start, "sh", h.unit, "-D", r.base, "--volatile=overlay"}, options...)...), nil
	}
	root := filepath.Join(r.dir, h.Name+".root")
	if err := os.Mkdir(root, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	script := []string{"--mount", "--propagation", "private", "sh", "-c", startLasting, "sh", r.base, root, h.unit}
	cmd := exec.Command("unshare", append(append(script, "-D", filepath.Join(root, "merged")), options...)...)
	cmd.Env = append(os.Environ(), "START="+start)
	return cmd, nil
}

// LosePower ends a lasting host as a power cut would, and starts it again: see
// AwaitReboot.
func (h *Host) LosePower() error {
	if err := os.WriteFile(filepath.Join(h.run.dir, h.Name+".root.again"), nil, 0o600); err != nil {
		return err
	}
	return syscall.Kill(h.leader, syscall.SIGKILL)
}

// AwaitReboot returns when a lasting host has gone down and is up again.
func (h *Host) AwaitReboot(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	for before := h.leader; ; {
		if now := h.findInit(); now != 0 && now != before {
			h.leader = 0
			return h.waitUntilUp(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lab: %s does not reboot: %w", h.Name, ctx.Err())
		case <-h.ended:
			return fmt.Errorf("lab: %s ended instead of rebooting", h.Name)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// findInit finds the host's PID 1; 0 when there is none.
func (h *Host) findInit() int {
	if !h.lasting {
		return initOf(h.nspawn.Process.Pid)
	}
	for _, nspawn := range childrenOf(h.nspawn.Process.Pid) {
		if pid := initOf(nspawn); pid != 0 {
			return pid
		}
	}
	return 0
}

// childrenOf lists the processes that a process has started.
func childrenOf(parent int) (children []int) {
	statuses, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range statuses {
		data, err := os.ReadFile(path)
		if err != nil || string(field(data, "PPid")) != strconv.Itoa(parent) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil {
			children = append(children, pid)
		}
	}
	return children
}

func (h *Host) waitUntilUp(ctx context.Context) error {
	for {
		if h.leader == 0 {
			if found := h.findInit(); found != 0 && hasOwnNetwork(found) {
				h.leader = found
				if err := h.join(ctx); err != nil {
					return err
				}
			}
		}
		if h.leader != 0 {
			// "degraded" is up as well: a unit that a container cannot have.
			out, err := h.Exec(ctx, "systemctl", "is-system-running", "--wait")
			state := string(bytes.TrimSpace(out.Stdout))
			if err == nil && (state == "running" || state == "degraded") {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.ended:
			return errors.New("it ended while booting")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// hasOwnNetwork reports whether a process is in another network than this machine's. A
// host that has just begun is not yet: its device would be this machine's.
func hasOwnNetwork(pid int) bool {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	ours, wrong := os.Readlink("/proc/thread-self/ns/net") // the first thread may be in a run's network
	return err == nil && wrong == nil && own != ours
}

// initOf finds the child of systemd-nspawn that is PID 1 of its namespace; 0
// when there is none yet.
func initOf(nspawn int) int {
	statuses, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range statuses {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		parent, pids := field(data, "PPid"), bytes.Fields(field(data, "NSpid"))
		if string(parent) == strconv.Itoa(nspawn) && len(pids) > 1 && string(pids[len(pids)-1]) == "1" {
			pid, _ := strconv.Atoi(string(pids[0]))
			return pid
		}
	}
	return 0
}

func field(status []byte, name string) []byte {
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			return bytes.TrimSpace(value)
		}
	}
	return nil
}

// Result is how a program on a host ended.
type Result struct {
	ExitCode       int
	Stdout, Stderr []byte
}

// Exec runs a program on the host as root, with a plain environment, and waits
// for it. An exit status other than 0 is no error.
func (h *Host) Exec(ctx context.Context, argv ...string) (Result, error) {
	return h.exec(ctx, nil, argv)
}

// Shell runs a script on the host with sh.
func (h *Host) Shell(ctx context.Context, script string) (Result, error) {
	return h.exec(ctx, nil, []string{"sh", "-c", script})
}

func (h *Host) exec(ctx context.Context, stdin []byte, argv []string) (Result, error) {
	enter := []string{"-t", strconv.Itoa(h.leader), "-m", "-u", "-i", "-n", "-p", "-r", "-w", "--"}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, argv...)...)
	cmd.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "USER=root", "LANG=C.UTF-8", "TERM=dumb",
	}
	cmd.Stdin = bytes.NewReader(stdin)
	r, err := collect(ctx, cmd)
	if err != nil {
		return r, fmt.Errorf("lab: %s on %s: %w", argv[0], h.Name, err)
	}
	return r, nil
}

// collect runs a program to its end, or the end of the context. An exit status
// other than 0 is no error.
func collect(ctx context.Context, cmd *exec.Cmd) (Result, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	child.EndTogether(cmd, 5*time.Second)
	err := cmd.Run()
	r := Result{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		r.ExitCode = exit.ExitCode()
		return r, nil
	}
	return r, err
}

// Copy puts all files of fsys below a directory of the host, which it makes.
func (h *Host) Copy(ctx context.Context, fsys fs.FS, dir string) error {
	archive, err := tarOf(fsys)
	if err != nil {
		return err
	}
	out, err := h.exec(ctx, archive, []string{
		"sh", "-c", `mkdir -p "$1" && tar -x --no-same-owner -C "$1"`, "sh", dir,
	})
	if err == nil && out.ExitCode != 0 {
		err = fmt.Errorf("lab: copy to %s on %s: %s", dir, h.Name, out.Stderr)
	}
	return err
}

// PowerOff ends the host as a power cut would, and returns when it is gone.
func (h *Host) PowerOff() error {
	defer h.run.strike(h)
	if h.nspawn == nil || h.nspawn.Process == nil {
		return nil // it never started
	}
	if h.leader != 0 {
		_ = syscall.Kill(h.leader, syscall.SIGKILL) // already gone is fine
	} else {
		_ = syscall.Kill(-h.nspawn.Process.Pid, syscall.SIGKILL) // its group
	}
	select {
	case <-h.ended:
	case <-time.After(endLimit):
		return fmt.Errorf("lab: %s does not end", h.unit)
	}
	return removeGroups(h.unit)
}
