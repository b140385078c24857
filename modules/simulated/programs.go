package simulated

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// addPrograms adds the programs of a machine that is like a real one. Those that modules and
// standard components call act on the tree as the real ones do; of any other it is known that
// it is there, and not what it does.
func addPrograms(h *host.Memory, all catalogue) {
	s := &suite{h: h}
	known := programsOf()
	for _, d := range all {
		for _, t := range d.things {
			dir := path.Dir(t.path)
			if t.word == "directory" || dir != "/usr/bin" && dir != "/usr/sbin" || isSimulated(path.Base(t.path)) {
				continue
			}
			s.installed(d.name, t.path, known[path.Base(t.path)])
		}
	}
}

// isSimulated tells the programs that machines have anyway.
func isSimulated(name string) bool {
	return slices.Contains(strings.Fields("apt-get apt-cache apt-mark systemctl useradd usermod userdel chpasswd "+
		"groupadd groupmod groupdel gpasswd mount umount mkswap swapon swapoff"), name)
}

// installed adds a program of a package, which is there while its file is. A nil one has no
// answer.
func (s *suite) installed(pkg, file string, run func(*program) (host.Result, error)) {
	s.h.Handle(path.Base(file), func(ctx context.Context, c host.Command) (host.Result, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !Exists(s.h, file) {
			return host.Result{}, &notInstalled{c.Argv[0], pkg}
		}
		if run == nil {
			return host.Result{}, &NoAnswerError{Argv: c.Argv}
		}
		result, err := run(&program{ctx: ctx, h: s.h, args: c.Argv[1:], stdin: string(c.Stdin)})
		if err == errNoAnswer {
			err = &NoAnswerError{Argv: c.Argv}
		}
		return result, err
	})
}

// programsOf are the programs of which it is known what they do, by their names. They get their
// arguments as they are.
func programsOf() map[string]func(*program) (host.Result, error) {
	good := func(p *program) (host.Result, error) { return p.result() }
	out := map[string]func(*program) (host.Result, error){
		"true": good, "update-ca-certificates": good,
		"false":       func(p *program) (host.Result, error) { return p.fail(1, "") },
		"sysctl":      sysctl,
		"getent":      getent,
		"visudo":      visudo,
		"locale":      locales,
		"locale-gen":  generateLocales,
		"hostname":    hostname,
		"rm":          remove,
		"mv":          move,
		"doas":        checks("-C"),
		"nginx":       checks("-t"),
		"sshd":        checks("-t", "-T"),
		"apache2ctl":  checks("configtest"),
		"haproxy":     checks("-c"),
		"nft":         checks("-c", "--check"),
		"ssh-keyscan": good,
		"systemd":     unitSettings,
	}
	out["systemd-analyze"] = checks("verify", "calendar")
	out["named-checkconf"], out["named-checkzone"], out["unbound-checkconf"] = good, good, good
	return out
}

// errNoAnswer says that it is not known what a program does when it is called so.
var errNoAnswer = errors.New("it is not known what the program does")

// checks makes a program that finds nothing wrong when it is asked to check, by one of these
// words, and of which nothing else is known.
func checks(words ...string) func(*program) (host.Result, error) {
	return func(p *program) (host.Result, error) {
		if slices.ContainsFunc(p.args, func(arg string) bool { return slices.Contains(words, arg) }) {
			return p.result()
		}
		return host.Result{}, errNoAnswer
	}
}

// unitSettings is systemd that is asked which settings units may have.
func unitSettings(p *program) (host.Result, error) {
	if !slices.Equal(p.args, []string{"--dump-configuration-items"}) {
		return host.Result{}, errNoAnswer
	}
	data, err := likeFiles.ReadFile("like/unit-settings")
	if err != nil {
		return host.Result{}, err
	}
	p.out.Write(data)
	return p.result()
}

// options gives the arguments that are none, and whether one of the options is there.
func (p *program) plainArgs() (rest []string, has func(names ...string) bool) {
	for _, arg := range p.args {
		if !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
		}
	}
	return rest, func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(p.args, n) })
	}
}

// sysctl shows parameters of the kernel, and sets them: KEY, or KEY=VALUE with --write.
func sysctl(p *program) (host.Result, error) {
	rest, has := p.plainArgs()
	if len(rest) == 0 {
		return host.Result{}, errNoAnswer
	}
	for _, arg := range rest {
		key, value, sets := strings.Cut(arg, "=")
		file := kernelFile(key)
		if !Exists(p.h, file) {
			return p.fail(255, "sysctl: cannot stat %s: No such file or directory", file)
		}
		if sets {
			if err := p.write(file, strings.TrimSpace(value)+"\n"); err != nil {
				return host.Result{}, err
			}
		}
		switch {
		case has("--values", "-n", "--quiet", "-q") && sets:
		case has("--values", "-n"):
			p.out.WriteString(Text(p.h, file))
		default:
			p.out.WriteString(key + " = " + Text(p.h, file))
		}
	}
	return p.result()
}

// getent looks accounts up: "passwd NAME" and "group NAME".
func getent(p *program) (host.Result, error) {
	if len(p.args) != 2 || p.args[0] != "passwd" && p.args[0] != "group" {
		return host.Result{}, errNoAnswer
	}
	for line := range strings.Lines(Text(p.h, "/etc/"+p.args[0])) {
		fields := strings.Split(line, ":")
		if fields[0] == p.args[1] || len(fields) > 2 && fields[2] == p.args[1] {
			p.out.WriteString(line)
			return p.result()
		}
	}
	return p.fail(2, "")
}

// visudo checks the rules of a file, or of standard input, with what they include.
func visudo(p *program) (host.Result, error) {
	file := "-"
	for i, arg := range p.args {
		if name, ok := strings.CutPrefix(arg, "--file="); ok {
			file = name
		} else if arg == "-f" && i+1 < len(p.args) {
			file = p.args[i+1]
		}
	}
	text, name := Text(p.h, file), file
	if file == "-" {
		text, name = p.stdin, "stdin"
	}
	if wrong := p.wrongRule(name, text); wrong != "" {
		return p.fail(1, "%s: syntax error", wrong)
	}
	return p.result()
}

// wrongRule gives the place of the first line that can be no rule.
func (p *program) wrongRule(name, text string) string {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if file, ok := strings.CutPrefix(line, "@include "); ok {
			if wrong := p.wrongRule(file, Text(p.h, file)); wrong != "" {
				return wrong
			}
			continue
		}
		first, _, _ := strings.Cut(line, " ")
		known := line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "Defaults") || first == "@includedir"
		if !known && !strings.Contains(line, "=") {
			return fmt.Sprintf("%s:%d:1", name, number)
		}
	}
	return ""
}

// localeArchive has the names of the locales that were made, one a line.
const localeArchive = "/usr/lib/locale/locale-archive"

// locales lists them: "-a".
func locales(p *program) (host.Result, error) {
	if !slices.Equal(p.args, []string{"-a"}) {
		return host.Result{}, errNoAnswer
	}
	p.out.WriteString("C\nC.utf8\nPOSIX\n" + Text(p.h, localeArchive))
	return p.result()
}

// generateLocales makes what /etc/locale.gen wishes for.
func generateLocales(p *program) (host.Result, error) {
	var made strings.Builder
	for line := range strings.Lines(Text(p.h, "/etc/locale.gen")) {
		if words := strings.Fields(line); len(words) == 2 && !strings.HasPrefix(line, "#") {
			made.WriteString(strings.Replace(words[0], "UTF-8", "utf8", 1) + "\n")
		}
	}
	if err := p.write(localeArchive, made.String()); err != nil {
		return host.Result{}, err
	}
	return p.result()
}

// hostname shows or sets the name that the kernel has.
func hostname(p *program) (host.Result, error) {
	const file = "/proc/sys/kernel/hostname"
	rest, _ := p.plainArgs()
	if len(rest) == 0 {
		p.out.WriteString(Text(p.h, file))
		return p.result()
	}
	if err := p.write(file, rest[0]+"\n"); err != nil {
		return host.Result{}, err
	}
	return p.result()
}

// remove is rm.
func remove(p *program) (host.Result, error) {
	rest, has := p.plainArgs()
	for _, name := range rest {
		if !Exists(p.h, name) && !has("-f", "-rf", "-fr", "--force") {
			return p.fail(1, "rm: cannot remove '%s': No such file or directory", name)
		}
		if err := removeAll(p.h, name); err != nil {
			return host.Result{}, err
		}
	}
	return p.result()
}

// move is mv of one file or link to a name: "-n" leaves what has that name.
func move(p *program) (host.Result, error) {
	rest, has := p.plainArgs()
	if len(rest) != 2 {
		return host.Result{}, errNoAnswer
	}
	from, to := rest[0], rest[1]
	info, err := p.h.Lstat(from)
	switch {
	case err != nil:
		return p.fail(1, "mv: cannot stat '%s': No such file or directory", from)
	case has("-n", "--no-clobber") && Exists(p.h, to):
		return p.result()
	case info.Kind == host.Symlink:
		var target string
		if target, err = p.h.ReadLink(from); err == nil {
			err = Link(p.h, target, to)
		}
	case info.Kind == host.Regular:
		err = WriteFile(p.ctx, p.h, to, Text(p.h, from), host.Meta{Mode: &info.Mode, UID: &info.UID, GID: &info.GID})
	default:
		return host.Result{}, errNoAnswer
	}
	if err == nil {
		err = p.h.Remove(from)
	}
	if err != nil {
		return host.Result{}, err
	}
	return p.result()
}
