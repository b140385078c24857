package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/privilege"
	"github.com/tenetcm/tenet/runtime/wire"
)

// The words for programs that an Error has.
const (
	codeInterrupted = "interrupted"
	codeConfig      = "config"   // what is asked of the client, or its configuration, is wrong
	codeClient      = "client"   // there is none
	codeHostKey     = "host_key" // unknown, or another than it was
	codeAuth        = "auth"
	codeName        = "name" // there is no such host
	codeRefused     = "refused"
	codeRoute       = "route"
	codeTimeout     = "timeout"
	codeBusy        = "busy" // sshd takes no more connections now
	codeCut         = "cut"  // the connection ended
	codeAlgorithms  = "algorithms"
	codeProxy       = "proxy" // the way there
	codeSSH         = "ssh"   // anything else that the client says
	codeShell       = "shell" // something else than our script was run
	codeBecome      = "become"
	codeArch        = "arch"
	codeNoSpace     = "no_space"
	codeReadOnly    = "read_only"
	codeNoexec      = "noexec"
	codeCache       = "cache" // its folder cannot be used for another reason
	codeDamaged     = "damaged"
	codeCrashed     = "crashed" // the runner
	codeVersion     = "version"
	codeProtocol    = "protocol"
)

// exitDamaged is the status of a runner that is not what its digest says.
const exitDamaged = 97

// isBrokenExit reports a status that tells of a program that cannot run, or breaks down:
// another one is of a runner that has said why on stderr.
func isBrokenExit(code int) bool {
	return code == 0 || code == 2 || code == exitDamaged || code >= exitNotExecutable // 0: an empty file; 2: a panic
}

// exitNotExecutable is a shell's status for a program that is there and cannot be run.
const exitNotExecutable = 126

// exitNotFound is a shell's status for a program that is not there, or whose interpreter is not, and
// the loader's for one whose libraries are not.
const exitNotFound = 127

const staticHint = "tenet runner build makes one that needs no libraries, for each kind of machine; one that is in a --runner-dir or beside tenet is taken before it"

// isUnfit reports whether a program cannot run on a machine of that kind, whatever is done there.
func isUnfit(code int, text string) bool {
	return code == exitNotFound || code == exitNotExecutable && strings.Contains(text, "Exec format error") ||
		strings.Contains(text, "version `GLIBC_") // which the loader ends with 1 for
}

// failure explains why an attempt has come to nothing. The client has ended; cause is
// why it was ended, if it was.
func (a *attempt) failure(err, cause error) *Error {
	e := a.explain(err, cause)
	e.Reached = e.Reached || a.connected && cause == nil
	e.Message = strings.ReplaceAll(privilege.Printable(e.Message), "\n", " ")
	if e.Hint == "" {
		e.Hint = a.host.cure(e.Code)
	}
	e.Hint = privilege.Printable(e.Hint)
	return e
}

func (a *attempt) explain(err, cause error) *Error {
	var script *scriptError
	var noRunner *NoRunnerError
	var version *versionError
	var failed *wire.FailedError
	var protocol *wire.ProtocolError
	switch {
	case errors.Is(cause, errRejected):
		return a.becomeFailure(a.becomeRequest().PasswordRefusal(a.p.stderr.Text()))
	case errors.Is(cause, errTimeout):
		return a.timeoutFailure()
	case cause != nil:
		return &Error{HintError: diag.HintError{Code: codeInterrupted, Message: "interrupted before it answered", Err: context.Cause(a.ctx)}}
	case errors.As(err, &script):
		return a.scriptFailure(script)
	case errors.As(err, &noRunner):
		return newHostError(codeArch, noRunner.Error(), diag.HintOf(noRunner))
	case errors.As(err, &version):
		return newError(codeVersion, version.Error(), "build the runners anew: tenet runner build")
	case errors.As(err, &failed):
		return &Error{Reached: true, HintError: *failed.Failure.Err()}
	case errors.Is(err, errNoise):
		return newHostError(codeShell, "its login shell prints so much that nothing else was found in it: "+privilege.LastLine(privilege.Printable(a.noise)), "")
	case errors.As(err, &protocol), errors.Is(err, errAnswer):
		return newHostError(codeProtocol, "what it answers makes no sense: "+err.Error(), "")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return a.exitFailure()
	}
	return &Error{HintError: diag.HintError{Code: codeClient, Message: err.Error(), Err: err}}
}

// timeoutFailure is for a host that does not answer.
func (a *attempt) timeoutFailure() *Error {
	e := newError(codeTimeout, fmt.Sprintf("no answer within %s", a.client.timeout()), "")
	switch {
	case a.running:
		e.Message, e.Reached = "the runner has started there, and says nothing", true
		e.Hint = "it gathers facts first: is the host overloaded, or a file system hanging? --connect-timeout gives it longer"
	case a.upload != nil:
		e.Message, e.Reached = "the line stands still while the runner is copied", true
		e.Retryable = true
		e.Hint = "is the line very slow, or the host's disk? --connect-timeout gives it longer"
	case a.login != "":
		e.Message, e.Reached = a.host.Become.program().Name+" there does not come to an end", true
		e.Code = codeBecome
		if text := privilege.LastLine(a.p.stderr.Text()); text != "" {
			e.Message += ": " + text
		}
		e.Hint = "it may ask for something that nobody is there to answer; try it there: " + a.host.Become.program().TestCommand()
	case a.connected:
		e.Message, e.Reached = "its shell has started, and hangs", true
		e.Hint = a.host.cure(codeShell)
	default:
		if text := a.p.stderr.Text(); strings.TrimSpace(text) != "" {
			e.Message += ": " + privilege.LastLine(text)
		}
		e.Hint = "it lets itself be connected to; sshd there or the login shell hangs"
	}
	return e
}

// exitFailure is for a connection that ended where more was due.
func (a *attempt) exitFailure() *Error {
	code, text := a.p.exitCode(), a.p.stderr.Text()
	cut := code == 255 || code == -1
	switch {
	case !a.connected && cut:
		return a.clientFailure(text)
	case !a.connected:
		said := privilege.LastLine(privilege.Printable(a.noise))
		if said == "" {
			said = privilege.LastLine(text)
		}
		message := "it lets nothing be run: the login shell or a forced command ended"
		if said != "" {
			message += ": " + said
		}
		return newHostError(codeShell, message, "")
	case cut:
		return &Error{Retryable: true, HintError: diag.HintError{Code: codeCut, Message: join("the connection was cut", privilege.LastLine(text))}}
	case !a.running && a.login != "" && !(a.relayed && a.upload == nil && isBrokenExit(code)): // then it was the relay
		return a.becomeFailure(a.becomeRequest().Refusal(text, ""))
	case !a.running && !a.relayed:
		return newError(codeShell, join(fmt.Sprintf("its shell ended with status %d", code), privilege.LastLine(text)), "")
	case a.upload == nil && isBrokenExit(code): // as long as it is not brought anew
		return newError(codeDamaged, join("the runner there does not run", privilege.LastLine(text)), "")
	case isUnfit(code, text):
		return newHostError(codeArch, join("the runner that was brought cannot run there, since it is for other machines or needs libraries that are not there", privilege.LastLine(text)), staticHint)
	case code == exitNotExecutable:
		return a.noexecFailure(join("", privilege.LastLine(text)))
	case code == exitDamaged:
		return newError(codeDamaged, join("the runner is not what was sent", privilege.LastLine(text)), "the host's disk or memory may be failing")
	}
	if said, hint, ok := runnerMessage(text); ok {
		return newError(codeCrashed, said, hint)
	}
	return newError(codeCrashed, join(fmt.Sprintf("the runner ended with status %d before it said anything", code), privilege.LastLine(text)), "")
}

// runnerMessage finds what a runner says of its end.
func runnerMessage(text string) (message, hint string, ok bool) {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, "tenet: "); found {
			message, hint, ok = privilege.LastLine(rest), "", true
		} else if rest, found := strings.CutPrefix(line, "hint: "); found && ok {
			hint = privilege.LastLine(rest)
		}
	}
	return message, hint, ok
}

func join(text, more string) string {
	if more == "" || text == "" {
		return text + more
	}
	return text + ": " + more
}

// scriptFailure is for what the start script cannot do.
func (a *attempt) scriptFailure(s *scriptError) *Error {
	text := a.p.stderr.Text()
	said := join("", privilege.LastLine(text))
	e := newError(codeCache, "", cacheHint)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	where := "the folder for runners, " + s.folder + ","
	switch {
	case slices.Contains(privilege.Names(), s.action):
		return a.becomeFailure(a.becomeRequest().Missing(s.action))
	case s.action == "home":
		e.Message = "the account has no home folder to keep the runner in"
	case s.action == "owner":
		e.Message = where + " is another's"
	case s.action == "noexec":
		return a.noexecFailure(s.folder)
	case s.action == "uname":
		e.Code, e.Message, e.Hint = codeArch, join("it does not tell what machine it is", said), "it needs the program uname"
	case has("No space left"):
		e.Code, e.Message, e.Hint = codeNoSpace, where+" is on a full disk", "make room; "+cacheHint
	case has("quota"):
		e.Code, e.Message = codeNoSpace, where+" is full to the account's quota"
	case has("Read-only file system"):
		e.Code, e.Message = codeReadOnly, where+" is on a file system that is read only"
	case has("Permission denied"):
		e.Message = where + " may not be written by the account"
	case s.action == "size":
		e.Code, e.Message, e.Hint = codeDamaged, "not all of the runner has arrived", ""
	default:
		e.Message = join(where+" cannot be used", said)
	}
	return e
}

const cacheHint = "the host's option runner_cache names another folder"

func (a *attempt) noexecFailure(folder string) *Error {
	return newHostError(codeNoexec, "nothing may be run in the folder for runners, "+folder+": its file system is mounted noexec", cacheHint)
}
