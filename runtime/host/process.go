package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// outputDelay is how long output is awaited after a program has ended, in case
// a process that it left behind holds its output open.
const outputDelay = time.Second

// Query is Processes.Query. A Local relies on the caller's promise.
func (l *Local) Query(ctx context.Context, q Query) (Result, error) {
	if q.Keep {
		return l.keptQuery(ctx, q)
	}
	return l.Run(ctx, q.Command)
}

// Run is Processes.Run. What the program leaves running when it ends by itself
// stays, and its further output is dropped; when ctx ends, all processes that
// come from it are ended, also those that left its group. Only one that has
// left its session, cleared its environment and lost its parent before cannot
// be told from others.
//
// A program is not tied to the life of its parent (PR_SET_PDEATHSIG follows
// the parent's thread, which in Go may end at any time).
func (l *Local) Run(ctx context.Context, c Command) (Result, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return Result{}, errNoArgv
	}
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("%s: %w", c.Argv[0], context.Cause(ctx))
	}
	result, err := l.run(ctx, c)
	if err == nil {
		return result, nil
	}
	if _, missing := errors.AsType[*NoProgramError](err); missing {
		return result, err // it names the program itself
	}
	return result, fmt.Errorf("%s: %w", c.Argv[0], err)
}

func (l *Local) run(ctx context.Context, c Command) (Result, error) {
	mark := processMark(ctx, l.runID)
	cmd, err := l.prepare(c, mark)
	if err != nil {
		return Result{}, err
	}
	streams, err := newStreams(cmd, c)
	if err != nil {
		return Result{}, err
	}
	defer streams.detach()
	if cmd, err = start(ctx, cmd); err != nil {
		return Result{}, l.explain(cmd, err)
	}
	streams.begin()
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ended <- fault.Do(func() error { return endProcesses(cmd.Process.Pid, mark, l.grace) })
	})
	err = cmd.Wait()
	if stop() {
		streams.await(ctx, outputDelay)
		return streams.result(cmd.ProcessState), exitError(err)
	}
	remain := <-ended
	streams.await(context.WithoutCancel(ctx), outputDelay)
	return streams.result(cmd.ProcessState), errors.Join(context.Cause(ctx), remain)
}

// exitError leaves out the error that only says how the program ended.
func exitError(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

// longestBusy bounds the pauses, each twice the one before, after which a program that is "text
// file busy" is given up: together they are two seconds.
const longestBusy = 1500 * time.Millisecond

// start starts a copy of cmd. While another goroutine starts a program too, that
// one may for a moment hold a file open that was just written, which then is
// "text file busy" (golang.org/issue/22315): on a machine at its limits the moment is long.
func start(ctx context.Context, cmd *exec.Cmd) (*exec.Cmd, error) {
	for wait := time.Millisecond; ; wait *= 2 {
		started := &exec.Cmd{
			Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, SysProcAttr: cmd.SysProcAttr,
			Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr,
		}
		err := started.Start()
		if !errors.Is(err, syscall.ETXTBSY) || wait > longestBusy || ctx.Err() != nil {
			return started, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// prepare finds the program and says how it is to be started.
func (l *Local) prepare(c Command, mark string) (*exec.Cmd, error) {
	attr := &syscall.SysProcAttr{Setsid: true}
	if l.root != nil {
		if os.Geteuid() != 0 {
			return nil, fmt.Errorf("a command below a root directory needs chroot, and with it the rights of root: %w", fs.ErrPermission)
		}
		attr.Chroot = l.dir
	}
	user, err := l.actAs(c.User, attr)
	if err != nil {
		return nil, err
	}
	env := append(l.environment(user), c.Env...)
	program, err := l.lookProgram(c.Argv[0], env)
	if err != nil {
		return nil, err
	}
	dir := c.Dir
	if dir == "" {
		dir = "/"
	}
	return &exec.Cmd{
		Path: program, Args: c.Argv, Env: append(env, mark), Dir: dir, SysProcAttr: attr,
	}, nil
}

// actAs sets the user to run as; nil is the acting one.
func (l *Local) actAs(name string, attr *syscall.SysProcAttr) (*User, error) {
	if name == "" {
		return nil, nil
	}
	u, err := l.User(name)
	if err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		groups, err := l.GroupsOf(u)
		if err != nil {
			return nil, err
		}
		attr.Credential = &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID), Groups: groups}
	} else if u.UID != os.Geteuid() {
		return nil, fmt.Errorf("only root can run a command as %s: %w", name, fs.ErrPermission)
	}
	return &u, nil
}

// environment is what a command gets before its own: little, and the same
// wherever tenet is started.
func (l *Local) environment(user *User) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LANG=C.UTF-8",
	}
	home := "/"
	if user == nil {
		if u, err := l.files.UserID(os.Geteuid()); err == nil && u.Home != "" {
			home = u.Home
		}
		return append(append(env, "HOME="+home), l.env...)
	}
	if user.Home != "" {
		home = user.Home
	}
	env = append(env, l.env...)
	return append(env, "HOME="+home, "USER="+user.Name, "LOGNAME="+user.Name)
}

// lookProgram finds a program in the PATH of the environment. One with a slash
// is as it is.
func (l *Local) lookProgram(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := ""
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	for dir := range strings.SplitSeq(path, ":") {
		if strings.HasPrefix(dir, "/") && l.executable(joinPath(dir, name)) {
			return joinPath(dir, name), nil
		}
	}
	return "", &NoProgramError{name}
}
