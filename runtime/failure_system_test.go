package runtime_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// stubborn answers each attempt to write a file in the same way.
type stubborn struct {
	*host.Memory
	answer error
	access host.Access
}

func (s *stubborn) WriteFile(_ context.Context, path string, _ host.Content, _ host.Meta) error {
	return &fs.PathError{Op: "write", Path: path, Err: s.answer}
}

func (s *stubborn) Access(string) host.Access { return s.access }

// What the system answers comes with a word for programs and with a cure.
func TestSystemErrors(t *testing.T) {
	for _, c := range []struct {
		answer     error
		code, hint string
	}{
		{syscall.ENOSPC, "no_space", "df -i"},
		{syscall.EDQUOT, "no_space", "quota"},
		{syscall.EROFS, "read_only", "mount the file system read-write"},
		{syscall.EISDIR, "is_directory", "force = true"},
		{syscall.ELOOP, "link_loop", "ls -l"},
		{syscall.ENAMETOOLONG, "name_too_long", "255 bytes"},
		{syscall.EMLINK, "too_many_links", "several directories"},
		{syscall.ETXTBSY, "busy", "apply again"},
		{syscall.EBUSY, "busy", "fuser"},
		{syscall.ENOEXEC, "not_executable", "#!/bin/sh"},
		{syscall.E2BIG, "too_large", "stdin"},
		{syscall.EMFILE, "too_many_files", "--parallel"},
		{syscall.ENFILE, "too_many_files", "fs.file-max"},
		{syscall.ENOMEM, "no_memory", "--parallel"},
		{syscall.EIO, "io", "dmesg"},
		{syscall.ESTALE, "stale", "mount it anew"},
		{fmt.Errorf("somehow: %w", syscall.ENOSPC), "no_space", "make room"},
	} {
		m := machine()
		m.ActAs(1000, 1000)
		ev := apply(t, &stubborn{Memory: m, answer: c.answer, access: host.Access{Names: true}}, `file "/a" { content = "x" }`).parts[`file["/a"]`]
		if ev.Error == nil || ev.Error.Code != c.code || !strings.Contains(ev.Error.Hint, c.hint) || !strings.Contains(ev.Error.Message, c.answer.Error()) {
			t.Errorf("%v: %+v", c.answer, ev.Error)
		}
	}
}

// Root is not told to become root: what refuses it is named, as far as it is known.
func TestRootIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, code, message, hint string
		uid                       int
		access                    host.Access
	}{
		{"a flag", "immutable", "operation not permitted: the directory / is immutable", "chattr -i / makes it changeable", 0, host.Access{Names: true, Immutable: true}},
		{"nothing known", "permission", "operation not permitted", "root itself is denied it", 0, host.Access{Names: true}},
		{"another account", "permission", "operation not permitted", "run tenet as a user who may do this, such as root", 1000, host.Access{Names: true}},
		{"another account, and a flag", "immutable", "the directory / is immutable", "chattr -i", 1000, host.Access{Names: true, Immutable: true}},
	} {
		m := machine()
		m.ActAs(c.uid, c.uid)
		m.Obey(host.Credentials{UID: c.uid, GID: c.uid, Privileged: c.uid == 0})
		ev := apply(t, &stubborn{Memory: m, answer: syscall.EPERM, access: c.access}, `file "/a" { content = "x" }`).parts[`file["/a"]`]
		if ev.Error == nil || ev.Error.Code != c.code || !strings.Contains(ev.Error.Message, c.message) || !strings.HasPrefix(ev.Error.Hint, c.hint) {
			t.Errorf("%s: %+v", c.name, ev.Error)
		}
	}
}

// A file in the place of a directory is named, wherever above a path it is.
func TestFileOnTheWay(t *testing.T) {
	m := machine()
	mkdir(t, m, "/d")
	write(t, m, "/d/f", "x")
	site := `file "/d/f/g/h" { content = "x" }`
	for name, ev := range map[string]any{
		"apply": apply(t, m, site).parts[`file["/d/f/g/h"]`].Error, "plan": plan(t, m, site).parts[`file["/d/f/g/h"]`].Error,
	} {
		if text := fmt.Sprintf("%+v", ev); !strings.Contains(text, "Message:/d/f is a file, not a directory") || !strings.Contains(text, `absent "/d/f" {}`) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A plan names what it would have put there itself, also where the guard of a whole state meets it.
func TestFileOnTheWayOfGuard(t *testing.T) {
	m := machine()
	site := `
	file "/d" { content = "x" }
	state "after" {
	  require = [file["/d"]]
	  only_if { exists = "/d/e" }
	  directory "/x" {}
	}
	`
	const want = "only_if cannot be decided: /d is a file, not a directory"
	const address = `state.after.directory["/x"]`
	if got := plan(t, m, site).parts[address].Error; got == nil || got.Message != want {
		t.Errorf("plan: %+v", got)
	}
	if got := apply(t, m, site).parts[address].Error; got == nil || got.Message != want {
		t.Errorf("apply: %+v", got)
	}
}

func TestMissingProgramIsToBeDeclared(t *testing.T) {
	got := apply(t, machine(), `command "x" { argv = ["no-such-program"] }`).parts["command.x"].Error
	if got == nil || got.Code != "not_found" || !strings.Contains(got.Message, `there is no program "no-such-program"`) || !strings.Contains(got.Hint, "what brings the program") {
		t.Errorf("%+v", got)
	}
}
