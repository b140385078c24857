// Package fake gives the modules' tests a small Debian in memory: a few users,
// and programs that act on its tree as the real ones do, as far as the modules
// use them. It keeps its state in the tree only, so that a Shadow and a
// snapshot see all of it.
package fake

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// Host is a small Debian without programs.
func Host(t testing.TB) *host.Memory {
	t.Helper()
	h := host.NewMemory()
	Put(t, h, "/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n"+
		"www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"+
		"alice:x:1000:1000:Alice:/home/alice:/bin/bash\n", 0o644)
	Put(t, h, "/etc/group", "root:x:0:\nadm:x:4:alice\nwww-data:x:33:\nalice:x:1000:\nstaff:x:50:\n", 0o644)
	Put(t, h, "/etc/shadow", "root:*:19000:0:99999:7:::\nwww-data:*:19000:0:99999:7:::\n"+
		"alice:$6$salt$alice:19000:0:99999:7:::\n", 0o640)
	Put(t, h, "/etc/skel/.profile", "# profile\n", 0o644)
	for _, dir := range []string{"/home", "/srv", "/tmp", "/root"} {
		Dir(t, h, dir, 0o755)
	}
	return h
}

// Put writes a file, with the directories above it.
func Put(t testing.TB, h host.Host, name, content string, mode fs.FileMode) {
	t.Helper()
	parents(t, h, name)
	if err := h.WriteFile(t.Context(), name, host.Text(content), host.Meta{Mode: &mode}); err != nil {
		t.Fatal(err)
	}
}

// Dir makes a directory, with those above it.
func Dir(t testing.TB, h host.Host, name string, mode fs.FileMode) {
	t.Helper()
	parents(t, h, name)
	if _, err := h.Lstat(name); err == nil {
		return
	}
	if err := h.Mkdir(name, host.Meta{Mode: &mode}); err != nil {
		t.Fatal(err)
	}
}

// Link makes a symbolic link, with the directories above it.
func Link(t testing.TB, h host.Host, target, name string) {
	t.Helper()
	parents(t, h, name)
	if err := h.Symlink(target, name, host.Meta{}); err != nil {
		t.Fatal(err)
	}
}

func parents(t testing.TB, h host.Host, name string) {
	t.Helper()
	if dir := path.Dir(name); dir != "/" {
		Dir(t, h, dir, 0o755)
	}
}

// Text reads a file, "" where there is none.
func Text(h host.Reader, name string) string {
	info, err := h.Lstat(name)
	if err != nil {
		return ""
	}
	content, err := host.ReadContent(h, name, info)
	if err != nil {
		return ""
	}
	text, _ := content.Inline()
	return text
}

// Exists reports whether something is at the path.
func Exists(h host.Reader, name string) bool {
	_, err := h.Lstat(name)
	return err == nil
}

// program is a fake program: it gets its arguments without "--" and those that
// begin with "-", which stand in flags with their values behind "=".
type program struct {
	ctx   context.Context
	h     *host.Memory
	args  []string
	flags map[string]string
	stdin string
	out   strings.Builder
}

// fail ends a fake program with a message.
func (p *program) fail(code int, format string, args ...any) (host.Result, error) {
	text := fmt.Sprintf(format, args...) + "\n"
	return host.Result{ExitCode: code, Stdout: []byte(p.out.String()), Stderr: []byte(text)}, nil
}

func (p *program) done() (host.Result, error) {
	return host.Result{Stdout: []byte(p.out.String())}, nil
}

func (p *program) write(name, text string) error {
	for dir := path.Dir(name); !Exists(p.h, dir); dir = path.Dir(name) {
		for !Exists(p.h, path.Dir(dir)) {
			dir = path.Dir(dir)
		}
		if err := p.h.Mkdir(dir, host.Meta{}); err != nil {
			return err
		}
	}
	return p.h.WriteFile(p.ctx, name, host.Text(text), host.Meta{})
}

// handle adds a fake program, with its options as the real one has them: one
// that ends in "=" takes a value. It refuses any other.
func handle(h *host.Memory, name, options string, run func(*program) (host.Result, error)) {
	known := strings.Fields(options)
	h.Handle(name, func(ctx context.Context, c host.Command) (host.Result, error) {
		p := &program{ctx: ctx, h: h, flags: map[string]string{}, stdin: string(c.Stdin)}
		rest := c.Argv[1:]
		for i := 0; i < len(rest); i++ {
			arg := rest[i]
			if arg == "--" {
				p.args = append(p.args, rest[i+1:]...)
				break
			}
			if !strings.HasPrefix(arg, "-") {
				p.args = append(p.args, arg)
				continue
			}
			flag, value, inside := strings.Cut(arg, "=")
			switch {
			case slices.Contains(known, flag) && !inside:
			case slices.Contains(known, flag+"=") && inside:
			case slices.Contains(known, flag+"="):
				i++
				value = rest[i]
			default:
				return p.fail(2, "%s: unrecognized option '%s'\nUsage: %s [options]", name, arg, name)
			}
			p.flags[flag] = value
		}
		return run(p)
	})
}
