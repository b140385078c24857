// Command clock runs a program, and all that it starts, with a clock that is so many
// seconds off:
//
//	clock SECONDS PROGRAM ARGS…
//
// A host of the lab shares the clock of this machine. But programs ask for the time in
// a page that the kernel gives to each of them, and whoever traces one may write there:
// so also those are deceived that are linked statically. It is for Linux on amd64.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "clock:", err)
		status = 125
	}
	os.Exit(status)
}

func run(args []string) (int, error) {
	if runtime.GOARCH != "amd64" {
		return 0, fmt.Errorf("there is no code for %s", runtime.GOARCH)
	}
	if len(args) < 2 {
		return 0, errors.New("usage: clock SECONDS PROGRAM ARGS…")
	}
	seconds, err := strconv.ParseInt(args[0], 10, 32)
	if err != nil {
		return 0, err
	}
	runtime.LockOSThread() // a tracer is a thread
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return trace(cmd.Process.Pid, int32(seconds))
}

// trace deceives a program that stands before its first instruction, and all that
// come of it, until the last one has ended. It gives the status of the first.
func trace(first int, seconds int32) (status int, err error) {
	known := map[int]bool{}
	if err := begin(first, seconds); err != nil {
		return 0, err
	}
	known[first] = true
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return status, nil
		case err != nil:
			return 0, err
		case ws.Exited() || ws.Signaled():
			delete(known, pid)
			if pid == first {
				status = ws.ExitStatus()
				if ws.Signaled() {
					status = 128 + int(ws.Signal())
				}
			}
			continue
		}
		signal := int(ws.StopSignal())
		switch {
		case ws.TrapCause() == unix.PTRACE_EVENT_EXEC:
			signal, err = 0, deceive(pid, seconds)
		case signal == int(unix.SIGTRAP), signal == int(unix.SIGSTOP) && !known[pid]:
			signal = 0 // of the tracing itself
		}
		known[pid] = true
		if err != nil {
			return 0, err
		}
		if err := unix.PtraceCont(pid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return 0, err
		}
	}
}

// begin waits for the first stop of a program.
func begin(pid int, seconds int32) error {
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil {
		return err
	}
	err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACEFORK|unix.PTRACE_O_TRACEVFORK|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACEEXEC)
	return errors.Join(err, deceive(pid, seconds), unix.PtraceCont(pid, 0))
}
