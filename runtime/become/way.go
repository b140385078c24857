package become

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
)

// The programs that let an account act as another one.
const (
	sudo = "sudo"
	doas = "doas"
)

// way is how the process of an account is started.
type way struct {
	cmd      *exec.Cmd
	method   string                 // sudo, doas; empty: by the rights of root
	login    string                 // who asks
	user     string                 // to become
	password bool                   // there is one
	prompt   string                 // after which the password is given; empty: never
	terminal bool                   // the password is asked for on a terminal
	known    func() (string, error) // gives it
	clear    func() error
}

// searchPath is where sudo and doas are looked for: never where the account may put
// programs of its own.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/wrappers/bin"

func (o Options) way(u host.User) (*way, error) {
	w := &way{user: u.Name, password: o.Password != "", known: func() (string, error) { return o.Password, nil }, clear: func() error { return nil }}
	program := o.Program
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("become: %w", err)
		}
	}
	if o.Args == nil {
		o.Args = []string{"runner", "become"}
	}
	if os.Geteuid() == 0 {
		return w, w.byRoot(o, u, program)
	}
	me, err := o.Host.UserID(os.Geteuid())
	if err != nil {
		return nil, fmt.Errorf("become: who acts now: %w", err)
	}
	w.login = me.Name
	path, err := w.find(o.Method)
	if err != nil {
		return nil, err
	}
	if u.UID != 0 { // root may start what only its owner may look at
		if program, w.clear, err = handOver(program); err != nil {
			return nil, fmt.Errorf("become: the program cannot be handed to %s: %w", u.Name, err)
		}
	}
	argv := append([]string{"-u", u.Name, "--", program}, o.Args...)
	switch {
	case !w.password:
		argv = append([]string{"-n"}, argv...)
	case w.method == sudo:
		w.prompt = "<tenet " + nonce() + ">"
		argv = append([]string{"-S", "-p", w.prompt}, argv...)
	default:
		w.prompt, w.terminal = "assword: ", true
	}
	if w.method == sudo {
		argv = append([]string{"-H"}, argv...)
	}
	w.cmd = exec.Command(path, argv...)
	w.cmd.Env = []string{"PATH=" + searchPath, "LANG=C", "LC_ALL=C", "HOME=" + me.Home, "USER=" + me.Name, "LOGNAME=" + me.Name}
	w.cmd.Dir = "/"
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return w, nil
}

// find finds the program that is asked for, or one that is there.
func (w *way) find(method string) (string, error) {
	methods := []string{sudo, doas}
	if method != "" {
		methods = []string{method}
	}
	for _, name := range methods {
		if name != sudo && name != doas {
			return "", &Error{Message: fmt.Sprintf("become: %q is not possible", name), Advice: "sudo and doas are known"}
		}
		for dir := range strings.SplitSeq(searchPath, ":") {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				w.method = name
				return path, nil
			}
		}
	}
	return "", &Error{Message: fmt.Sprintf("become: there is no %s on this machine", strings.Join(methods, " or ")),
		Advice: fmt.Sprintf("install it, or let tenet act as root: %s cannot become %s without it", w.login, w.user)}
}

// byRoot starts the program with the account's rights.
func (w *way) byRoot(o Options, u host.User, program string) error {
	groups, err := o.Host.GroupsOf(u)
	if err != nil {
		return fmt.Errorf("become: the groups of %s: %w", u.Name, err)
	}
	path, file, err := runnable(program)
	if err != nil {
		return fmt.Errorf("become: the program cannot be handed to %s: %w", u.Name, err)
	}
	w.cmd = &exec.Cmd{Path: path, Args: append([]string{program}, o.Args...), Dir: "/"}
	if file != nil {
		w.cmd.ExtraFiles = []*os.File{file}
	}
	w.cmd.Env = []string{"PATH=" + searchPath, "LANG=C.UTF-8", "HOME=" + u.Home, "USER=" + u.Name, "LOGNAME=" + u.Name}
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID), Groups: groups}}
	return nil
}

// rule is what lets the account become the other one.
func (w *way) rule() string {
	if w.method == doas {
		return "permit nopass " + w.login + " as " + w.user + " in /etc/doas.conf"
	}
	return w.login + " ALL=(" + w.user + ") NOPASSWD: ALL in /etc/sudoers.d/tenet"
}

// wrongPassword is the error for one.
func (w *way) wrongPassword() error {
	return &Error{Message: fmt.Sprintf("become: the password of %s is not the right one for %s", w.login, w.method),
		Advice: fmt.Sprintf("it is the password of %s that is asked for; try it by hand: %s true", w.login, w.method)}
}

// failed explains what sudo and doas say, or else why there was no answer.
func (w *way) failed(said, reason string) error {
	if w.method == "" {
		return &Error{Message: fmt.Sprintf("become: the program cannot be started as %s%s", w.user, after(last(said), reason))}
	}
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(said, word) {
				return true
			}
		}
		return false
	}
	needs := "it needs the rule " + w.rule()
	switch {
	case has("incorrect password", "Sorry, try again", "Authentication failed"):
		return w.wrongPassword()
	case has("password is required", "authentication is required", "Authentication required", "Authorization required"):
		return &Error{Message: fmt.Sprintf("become: %s wants a password to let %s become %s", w.method, w.login, w.user), Advice: needs + ", or --ask-become-pass"}
	case has("not in the sudoers", "not allowed to", "may not run sudo", "Operation not permitted"):
		return &Error{Message: fmt.Sprintf("become: %s does not let %s become %s", w.method, w.login, w.user), Advice: needs}
	case has("must have a tty", "no tty present"):
		return &Error{Message: fmt.Sprintf("become: sudo wants a terminal to let %s become %s", w.login, w.user),
			Advice: "it needs the rule Defaults:" + w.login + " !requiretty in /etc/sudoers.d/tenet"}
	case has("no new privileges", "must be owned by uid 0", "effective uid is not 0", "setuid"):
		return &Error{Message: fmt.Sprintf("become: %s cannot work here%s", w.method, after(last(said), "")),
			Advice: "a file system mounted nosuid or a container without new privileges keeps it from working: run tenet as " + w.user + ", or as root"}
	}
	return &Error{Message: fmt.Sprintf("become: %s does not let %s become %s%s", w.method, w.login, w.user, after(last(said), reason)), Advice: needs}
}

// after gives the first of several texts that says something, after a colon.
func after(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return ": " + text
		}
	}
	return ""
}

// last is the last line that says something, without what a terminal would take for
// something else.
func last(said string) string {
	said = strings.Map(func(r rune) rune {
		if r != '\n' && diag.Unsafe(r) {
			return -1
		}
		return r
	}, said)
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

var errNoexec = errors.New("/tmp, /var/tmp and /dev/shm do not let programs run")
