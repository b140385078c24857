package become

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/privilege"
)

// launch is how the process of an account is started.
type launch struct {
	privilege.Launch
	request privilege.Request // its program has no name where it is started by the rights of root
	clear   func() error      // removes what it is started from
}

// searchPath is where sudo and doas are looked for: never where the account may put
// programs of its own.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/wrappers/bin"

// launch gives how the process of an account is started. With terminal, a program that
// lets become it is given one, though it could do without.
func (o Options) launch(u host.User, terminal bool) (*launch, error) {
	if o.Program == "" {
		var err error
		if o.Program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("become: %w", err)
		}
	}
	if o.Args == nil {
		o.Args = []string{"runner", "become"}
	}
	if os.Geteuid() == 0 {
		return o.byRoot(u)
	}
	me, err := o.Host.UserID(os.Geteuid())
	if err != nil {
		return nil, fmt.Errorf("become: who acts now: %w", err)
	}
	request := privilege.Request{Login: me.Name, User: u.Name, Password: o.Password != "", Terminal: terminal, Mark: "<tenet " + nonce() + ">"}
	if wrong := privilege.Check(o.Method, u.Name, o.Password); wrong != nil {
		return nil, refusalError(wrong)
	}
	path := ""
	if request.Program, path = find(o.Method); path == "" {
		names := privilege.Names()
		if o.Method != "" {
			names = []string{o.Method}
		}
		return nil, refusalError(request.Missing(names...))
	}
	return o.byProgram(path, request, me, u)
}

// find finds the program that is asked for, or one that is there.
func find(method string) (privilege.Program, string) {
	for _, p := range privilege.Programs() {
		if method != "" && method != p.Name {
			continue
		}
		for dir := range strings.SplitSeq(searchPath, ":") {
			path := filepath.Join(dir, p.Name)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return p, path
			}
		}
	}
	return privilege.Program{}, ""
}

// byProgram starts the program by sudo or doas.
func (o Options) byProgram(path string, request privilege.Request, me, u host.User) (*launch, error) {
	program, clear := o.Program, func() error { return nil }
	if u.UID != 0 { // root may start what only its owner may look at
		var err error
		if program, clear, err = copyForAccount(program); err != nil {
			return nil, fmt.Errorf("become: the program cannot be handed to %s: %w", u.Name, err)
		}
	}
	argv := request.Argv(append([]string{program}, o.Args...)...)
	cmd := exec.Command(path, argv[1:]...)
	cmd.Env = append(privilege.Environ(), "PATH="+searchPath, "HOME="+me.Home, "USER="+me.Name, "LOGNAME="+me.Name)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return &launch{request: request, clear: clear, Launch: privilege.Launch{
		Cmd: cmd, Program: request.Program, Prompt: request.Prompt(), Terminal: request.OnTerminal(),
		Password: func() (string, error) { return o.Password, nil },
	}}, nil
}

// byRoot starts the program with the account's rights.
func (o Options) byRoot(u host.User) (*launch, error) {
	groups, err := o.Host.GroupsOf(u)
	if err != nil {
		return nil, fmt.Errorf("become: the groups of %s: %w", u.Name, err)
	}
	path, file, err := openExecutable(o.Program)
	if err != nil {
		return nil, fmt.Errorf("become: the program cannot be handed to %s: %w", u.Name, err)
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{o.Program}, o.Args...), Dir: "/"}
	if file != nil {
		cmd.ExtraFiles = []*os.File{file}
	}
	cmd.Env = []string{"PATH=" + searchPath, "LANG=C.UTF-8", "HOME=" + u.Home, "USER=" + u.Name, "LOGNAME=" + u.Name}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID), Groups: groups}}
	return &launch{Launch: privilege.Launch{Cmd: cmd}, request: privilege.Request{User: u.Name}, clear: func() error { return nil }}, nil
}

// failure explains what sudo and doas say, or else why there was no answer.
func (l *launch) failure(text, reason string) *privilege.Refusal {
	if l.request.Program.Name != "" {
		return l.request.Refusal(text, reason)
	}
	why := privilege.LastLine(text)
	if why == "" {
		why = reason
	}
	return privilege.NewRefusal(privilege.Unexplained, fmt.Sprintf("the program cannot be started as %s: %s", l.request.User, why), "")
}

var errNoexec = errors.New("/tmp, /var/tmp and /dev/shm do not let programs run")
