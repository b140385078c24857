package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
)

// settings reads what Ansible's own variables say about a host.
type settings struct {
	*tree
	host *Host
	vars map[string]value
}

// first gives the first of the variables that is there and can be used.
func (s *settings) first(names ...string) (v value, name string, ok bool) {
	for _, name := range names {
		if v, ok = s.vars[name]; ok && v.plain != nil && unusableReason(v.plain) == "" {
			return v, name, true
		}
	}
	return value{}, "", false
}

// text gives the first of the variables that is a text or a number.
func (s *settings) text(names ...string) (string, value, bool) {
	v, name, ok := s.first(names...)
	if !ok {
		return "", v, false
	}
	t := text(v.plain)
	if t == "" && v.plain != "" {
		s.errorAt(v.src, "write a text", "%s of the host %s is no text", name, s.host.Name)
	}
	return t, v, t != ""
}

// ansibleSettings makes of Ansible's variables how the host is reached; false: it cannot
// be.
func (t *tree) ansibleSettings(h *Host, vars map[string]value) bool {
	s := &settings{t, h, vars}
	if connection, v, ok := s.text("ansible_connection"); ok {
		switch connection[strings.LastIndex(connection, ".")+1:] {
		case "ssh", "smart", "paramiko", "paramiko_ssh", "openssh":
		case "local":
			h.Executor = "local"
		default:
			t.warn(v.src, `hosts are reached by ssh, or are this machine: ansible_connection=local`, "the host %s is reached by %s, which is not possible here, and is left out", h.Name, connection)
			return false
		}
	}
	if address, v, ok := s.text("ansible_host", "ansible_ssh_host"); ok {
		s.check(site.CheckAddress(address), v)
		h.Address = address
	}
	if user, v, ok := s.text("ansible_user", "ansible_ssh_user"); ok {
		s.check(site.CheckUser(user), v)
		h.User = user
	}
	if port, v, ok := s.text("ansible_port", "ansible_ssh_port"); ok {
		h.Port = t.port(port, v)
	}
	s.readBecome()
	s.sshOptions()
	s.warnIgnored()
	return true
}

func (t *tree) port(text string, v value) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		t.errorAt(v.src, "write a number from 1 to 65535", "%q is no port", text)
	}
	return n
}

func (s *settings) check(err error, v value) {
	if err != nil {
		s.list.Add(diag.Diagnose(err, v.src))
	}
}

// readBecome reads ansible_become and its like.
func (s *settings) readBecome() {
	v, _, ok := s.first("ansible_become")
	if !ok || !isTrue(v.plain) {
		return
	}
	s.host.Become = "root"
	if user, v, ok := s.text("ansible_become_user"); ok {
		s.check(site.CheckUser(user), v)
		s.host.Become = user
	}
	if method, v, ok := s.text("ansible_become_method"); ok {
		method = method[strings.LastIndex(method, ".")+1:]
		if !slices.Contains(site.BecomeMethods(), method) {
			s.warn(v.src, "write sudo or doas", "the host %s becomes %s by %s, which is not possible here: sudo is taken", s.host.Name, s.host.Become, method)
			return
		}
		s.host.BecomeMethod = method
	}
}

// isTrue is what Ansible takes for true.
func isTrue(plain any) bool {
	if b, ok := plain.(bool); ok {
		return b
	}
	return slices.Contains([]string{"yes", "on", "1", "true", "t", "y", "1.0"}, strings.ToLower(text(plain)))
}

// sshOptions reads what Ansible hands to the OpenSSH client.
func (s *settings) sshOptions() {
	for _, name := range []string{"ansible_ssh_extra_args", "ansible_ssh_common_args", "ansible_ssh_args"} {
		args, v, ok := s.text(name)
		if !ok {
			continue
		}
		options, rest, err := sshArguments(args)
		if err != nil {
			s.errorAt(v.src, "put quotes around a value that holds spaces", "%s of the host %s cannot be read: %v", name, s.host.Name, err)
		}
		for _, option := range options {
			if err := site.CheckSSHOption(option); err != nil {
				d := diag.Diagnose(err, v.src)
				d.Severity, d.Detail = diag.Warning, "It is left out."
				s.list.Add(d)
				continue
			}
			s.host.SSHOptions = append(s.host.SSHOptions, option)
		}
		if len(rest) > 0 {
			s.warn(v.src, "write it as -o NAME=VALUE", "%s: %s is left out", name, strings.Join(rest, " "))
		}
	}
	if file, v, ok := s.text("ansible_ssh_private_key_file", "ansible_private_key_file"); ok {
		if strings.ContainsRune(file, ' ') {
			file = strconv.Quote(file)
		}
		option := "IdentityFile=" + file
		s.check(site.CheckSSHOption(option), v)
		s.host.SSHOptions = append(s.host.SSHOptions, option)
	}
}

// sshArguments gives the options NAME=VALUE that arguments of the OpenSSH client stand
// for, and those that cannot be written so.
func sshArguments(text string) (options, rest []string, err error) {
	args, err := words(text)
	if err != nil {
		return nil, nil, err
	}
	names := map[string]string{"-o": "", "-J": "ProxyJump", "-i": "IdentityFile", "-p": "Port", "-l": "User"}
	alone := map[string]string{"-C": "Compression=yes", "-A": "ForwardAgent=yes", "-a": "ForwardAgent=no", "-4": "AddressFamily=inet", "-6": "AddressFamily=inet6", "-q": "LogLevel=QUIET"}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if option, ok := alone[arg]; ok {
			options = append(options, option)
			continue
		}
		name, known := "", false
		if len(arg) >= 2 {
			name, known = names[arg[:2]]
		}
		if !known {
			rest = append(rest, arg)
			continue
		}
		given := arg[2:]
		if given == "" {
			if i++; i == len(args) {
				return options, rest, fmt.Errorf("there is nothing behind %s", arg)
			}
			given = args[i]
		}
		if name != "" {
			options = append(options, name+"="+given)
			continue
		}
		options = append(options, plainOption(given))
	}
	return options, rest, nil
}

// plainOption writes "Name value", as the client allows, as Name=value.
func plainOption(text string) string {
	i := strings.IndexAny(text, "= \t")
	if i < 0 || text[i] == '=' {
		return text
	}
	return text[:i] + "=" + strings.TrimLeft(text[i:], " \t=")
}

// warnIgnored warns of variables that matter, and of which no use can be made.
func (s *settings) warnIgnored() {
	for _, x := range []struct{ name, why, hint string }{
		{"ansible_password", "passwords stand in no inventory", "log in with a key: ssh-copy-id"},
		{"ansible_ssh_pass", "passwords stand in no inventory", "log in with a key: ssh-copy-id"},
		{"ansible_become_password", "passwords stand in no inventory", "give it once, with --ask-become-pass"},
		{"ansible_become_pass", "passwords stand in no inventory", "give it once, with --ask-become-pass"},
		{"ansible_become_exe", "sudo and doas are found on the PATH of the host", "leave it out"},
		{"ansible_become_flags", "sudo and doas are called in one way", "leave it out"},
		{"ansible_ssh_executable", "the OpenSSH client is that of the PATH", "leave it out"},
	} {
		if v, _, ok := s.first(x.name); ok {
			s.warn(v.src, x.hint, "%s is not taken: %s", x.name, x.why)
		}
	}
	for _, name := range []string{"ansible_ssh_host_key_checking", "ansible_host_key_checking"} {
		if v, _, ok := s.first(name); ok && !isTrue(v.plain) {
			s.warn(v.src, "fill known_hosts: ssh-keyscan HOST", "%s is not taken: host keys are always checked", name)
		}
	}
}
