package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// Codes of errors.
const (
	CodeNotFound    = "not_found"   // the repository, ref, commit or directory is not there
	CodeCredentials = "credentials" // the repository does not let one in
	CodeUnreachable = "unreachable"
	CodeTooLarge    = "too_large"
	CodeDamaged     = "damaged"   // the cache is, and was removed
	CodeSignature   = "signature" // there is none that counts
	CodeProgram     = "program"   // git or ssh-keygen cannot be used
)

func (r *Repository) refuse(code, hint, format string, args ...any) error {
	return &diag.HintError{Code: code, Message: r.URL() + ": " + diag.Shorten(fmt.Sprintf(format, args...)), Hint: hint}
}

// because is refuse with a cause, which may be the end of a program.
func (r *Repository) because(err error, code, hint, format string, args ...any) error {
	return &diag.HintError{Code: code, Message: r.URL() + ": " + diag.Shorten(fmt.Sprintf(format, args...)), Hint: hint, Err: err}
}

func (c *Client) programName() string {
	if c.Program != "" {
		return c.Program
	}
	return "git"
}

// oldest is the version of git that knows signatures by SSH.
const oldestMinor = 34

// checkProgram looks at the version of git, once. An older one would ignore much of what it is told.
func (c *Client) checkProgram(ctx context.Context) error {
	c.once.Do(func() {
		within, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // the answer is for later calls, too
		defer stop()
		cmd := exec.CommandContext(within, c.programName(), "version")
		cmd.Env = []string{"LC_ALL=C"}
		out, err := cmd.Output()
		if err != nil {
			c.program = c.explainStart(err)
			return
		}
		m := regexp.MustCompile(`^git version (\d+)\.(\d+)`).FindStringSubmatch(string(out))
		if m == nil {
			c.program = &diag.HintError{Code: CodeProgram, Message: fmt.Sprintf("%s is not Git: it says %q", c.programName(), diag.Shorten(string(out)))}
			return
		}
		major, wrong := strconv.Atoi(m[1])
		minor, wrong2 := strconv.Atoi(m[2])
		if wrong != nil || wrong2 != nil || major < 2 || major == 2 && minor < oldestMinor {
			c.program = &diag.HintError{Code: CodeProgram, Message: fmt.Sprintf("git has the version %s.%s, and 2.%d is needed", m[1], m[2], oldestMinor), Hint: "install a newer one"}
		}
	})
	return c.program
}

func (c *Client) explainStart(err error) error {
	return &diag.HintError{Code: CodeProgram, Message: fmt.Sprintf("git cannot be run: %v", err), Hint: "install it: apt install git", Err: err}
}

// explain says why a call of git has failed, in one line. What git and the other side have said may be anything.
func (r *Repository) explain(c command, failed error, told string) error {
	told = r.client.Credentials.hide(told)
	reason := r.client.Credentials.shown(lastReason(told))
	has := func(texts ...string) bool {
		for _, text := range texts {
			if strings.Contains(told, text) {
				return true
			}
		}
		return false
	}
	switch {
	case has("could not read Username", "could not read Password", "Authentication failed", "returned error: 401", "returned error: 403", "Permission denied (", "Host key verification failed"):
		return r.because(failed, CodeCredentials, "give a token file, a helper or an SSH key that lets you read the repository, and the host's key where it is reached by ssh", "the repository does not let you in: %s", reason)
	case has("dubious ownership"):
		return r.because(failed, CodeCredentials, "read it as its owner, or by ssh or https", "the repository belongs to another user of this machine")
	case has("returned error: 3", "unable to update url base from redirection"):
		return r.because(failed, CodeUnreachable, "write the address to which it leads: redirections are not followed", "the repository has moved: %s", reason)
	case has("not our ref", "remote ref does not exist", "couldn't find remote ref", "no such remote ref"):
		return r.because(failed, CodeNotFound, "it may have been removed since, or never been pushed", "the repository has no such commit: %s", reason)
	case has("repository not found", "Repository not found", "does not appear to be a git repository", "returned error: 404", "' not found", "does not exist"):
		return r.because(failed, CodeNotFound, "look at the address, and whether you may read it", "there is no such repository: %s", reason)
	case has("certificate verification failed", "SSL certificate problem", "no alternative certificate subject name", "certificate subject name"):
		return r.because(failed, CodeUnreachable, "name the file of its authority by --ca-file, on a server as HOST.pem in the directory of --git-credentials, or have the machine trust it; else somebody is in between",
			"the certificate of the repository's host is not trusted: %s", reason)
	case has("Could not resolve host", "Failed to connect", "Connection refused", "Couldn't connect", "Connection timed out", "Connection reset", "Operation too slow", "unable to access", "Could not read from remote", "early EOF", "hung up"):
		return r.because(failed, CodeUnreachable, "look at the address and at the network", "the repository cannot be read: %s", reason)
	case has("Out of memory", "out of memory", "File too large"):
		return r.because(failed, CodeTooLarge, largeHint, "the repository needs more memory or larger files than it may have")
	}
	return r.because(failed, "git", "", "git %s: %s", c.args[0], orText(reason, failed.Error()))
}

const largeHint = "keep what is large elsewhere, and have hosts fetch it"

func (r *Repository) tooLarge() error {
	return r.refuse(CodeTooLarge, largeHint, "the repository brings more than %d MiB", r.limits.Cache>>20)
}

func orText(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// lastReason is the last line that says what is wrong, else the last one.
func lastReason(told string) string {
	reason := ""
	for line := range strings.FieldsFuncSeq(told, func(c rune) bool { return c == '\n' || c == '\r' }) {
		line = strings.TrimSpace(diag.Clean(line, "", '·'))
		if line == "" {
			continue
		}
		for _, kind := range []string{"fatal: ", "error: "} {
			if text, ok := strings.CutPrefix(line, kind); ok {
				line = text
			}
		}
		if !strings.HasPrefix(line, "and the repository exists") && !strings.HasPrefix(line, "Please make sure") && !strings.HasPrefix(line, "Aborting") {
			reason = line
		}
	}
	return diag.Shorten(reason)
}

// exitCode is that of a program that has ended by itself; -1: it has not.
func exitCode(err error) int {
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return ended.ExitCode()
	}
	return -1
}
