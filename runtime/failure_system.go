package runtime

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// systemError is what an answer of the operating system means to who runs tenet.
type systemError struct {
	is   error
	code string
	hint string
}

const (
	codePermission   = "permission"
	codeNoSpace      = "no_space"
	codeNotDirectory = "not_directory"
	codeBusy         = "busy"
	codeNotFound     = "not_found"
	hintRights       = "run tenet as a user who may do this, such as root"
	hintProgram      = "declare before it what brings the program, such as a package; one outside of /usr/local/sbin, /usr/local/bin, " +
		"/usr/sbin, /usr/bin, /sbin and /bin needs its whole path"
	hintRoot = "root itself is denied it: not by owner and mode, but by the file system (such as /sys, or NFS), a container or a security " +
		"module; dmesg or journalctl -k may tell"
)

// systemErrors are the answers that reach users as they are, the first that fits first.
func systemErrors() []systemError {
	return []systemError{
		{fs.ErrPermission, codePermission, hintRights},
		{syscall.ENOSPC, codeNoSpace, "make room on the file system, then apply again; df -h shows its bytes, df -i its inodes"},
		{syscall.EDQUOT, codeNoSpace, "the account has used up its quota: raise it, or remove files of the account, then apply again"},
		{syscall.EROFS, "read_only", "mount the file system read-write first; Linux itself mounts one read-only whose disk has errors, as dmesg tells"},
		{syscall.ENOTDIR, codeNotDirectory, "give another path, or remove before it what stands in the way, with absent"},
		{syscall.EISDIR, "is_directory", "give another path, or remove the directory before, with absent and force = true"},
		{syscall.ELOOP, "link_loop", "symbolic links on the way lead to one another, or more than 40 follow on one another: ls -l shows where they lead"},
		{syscall.ENAMETOOLONG, "name_too_long", "take shorter names: a name has at most 255 bytes, a path 4095"},
		{syscall.EMLINK, "too_many_links", "the file system lets no more directories, or links, be in one place: put them into several directories"},
		{syscall.ETXTBSY, codeBusy, "somebody still writes the program, or it runs: apply again when that has ended"},
		{syscall.EBUSY, codeBusy, "something is mounted there, or a program uses it: findmnt and fuser -vm show what"},
		{syscall.ENOEXEC, "not_executable", "a program is built for this processor, and a script begins with its interpreter, such as #!/bin/sh"},
		{syscall.E2BIG, "too_large", "arguments and environment are too large together, or one has more than 128 KiB: give large texts by stdin or in a file"},
		{syscall.EMFILE, "too_many_files", "raise the limit of open files (ulimit -n), or make fewer parts at a time (--parallel)"},
		{syscall.ENFILE, "too_many_files", "the whole machine has too many open files: raise fs.file-max, or end what opens them"},
		{syscall.ENOMEM, "no_memory", "the machine has no memory left for it: end other programs, or make fewer parts at a time (--parallel)"},
		{syscall.EIO, "io", "the disk, or what it is connected by, has failed: dmesg tells more"},
		{syscall.ESTALE, "stale", "the server of the network file system has put something else there: mount it anew"},
		{fs.ErrNotExist, codeNotFound, ""},
	}
}

// explainSystem gives a failure the code and the advice of the system's answer that caused it.
func explainSystem(f *states.Failure, err error) {
	if _, ok := errors.AsType[*host.NoProgramError](err); ok {
		f.Code, f.Hint = codeNotFound, hintProgram
		return
	}
	for _, e := range systemErrors() {
		if errors.Is(err, e.is) {
			f.Code, f.Hint = e.code, e.hint
			return
		}
	}
}

// explainPlace names in a failure the file that stands where a directory should: the system's
// answer alone does not say which it is.
func (s *step) explainPlace(f *states.Failure) {
	at, ok := errors.AsType[*fs.PathError](s.err)
	if !ok || f.Code != codeNotDirectory || !path.IsAbs(at.Path) {
		return
	}
	var sight host.Reader = s.actingHost()
	switch {
	case s.actor != nil && s.actor.shadow != nil:
		sight = s.actor.shadow
	case s.actor == nil && s.engine.planning(): // the guard of its invocation has failed
		sight = s.engine.shadow
	}
	if in, kind := obstacleAbove(sight, at.Path); in != "" {
		why := states.WrongKindError(in, kind, string(host.Directory))
		f.Message = strings.Replace(f.Message, at.Error(), why.Error(), 1)
		f.Hint = cmp.Or(states.FailureOf(why).Hint, f.Hint)
	}
}

// obstacleAbove finds what is above a path and no directory.
func obstacleAbove(h host.Reader, at string) (string, host.Kind) {
	for i := range at {
		if i == 0 || at[i] != '/' {
			continue
		}
		in := strings.TrimSuffix(at[:i], "/")
		switch info, err := h.Lstat(in); {
		case err != nil:
			return "", ""
		case info.Kind == host.Regular, info.Kind == host.Other:
			return in, info.Kind
		}
	}
	return "", ""
}
