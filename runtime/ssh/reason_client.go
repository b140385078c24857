package ssh

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/privilege"
)

// sign is what OpenSSH's client says when something is the matter. Its messages are
// English in all locales.
type sign struct {
	code      string
	retryable bool
	message   string // what the text in the pattern's parentheses is put into
	hint      string
	pattern   *regexp.Regexp
}

// signs are looked for in this order: the reason stands before what comes of it.
func signs(h Host) []sign {
	byHand, known := h.manualCommand(), Quote(h.knownHostsName())
	at := func(code, message, hint, pattern string) sign {
		return sign{code, code == codeBusy || code == codeCut, message, hint, regexp.MustCompile(pattern)}
	}
	return []sign{
		at(codeHostKey, "its host key is not the one that is known: it was set up anew, or somebody stands in between",
			"ask who runs it whether the key is new; if so, ssh-keygen -R "+known+" forgets the old one", `REMOTE HOST IDENTIFICATION HAS CHANGED|differs from the key for the IP address`),
		at(codeHostKey, "its host key is marked as revoked", "known_hosts has a line @revoked for it: somebody took the key out of use; ask who runs it for the new one", `REVOKED HOST KEY|is marked as revoked|revoked (by|in) `),
		at(codeHostKey, "its host key is not known here",
			"connect once by hand, "+byHand+", and compare what it shows; or let a known_host part put the key into known_hosts",
			`host key is known for .* and you have requested strict checking|Host key verification failed`),
		at(codeConfig, "the client's configuration is wrong: %s", "", `(?m)((?:Bad configuration option|Bad owner or permissions|Unsupported option|.*[Bb]ad (?:number|value|.*argument)|.*keyword .* (?:extra|missing) |.*line \d+: .*|unknown option).*)$`),
		at(codeProxy, "the way there does not go through: %s", "", `(open failed: .*|.*stdio forwarding failed|ProxyCommand.*|.*[Pp]roxy.*not found.*)`),
		at(codeName, "there is no host of this name: %s", "the host's option address names another one; without it its own name is looked for", `Could not resolve hostname (.*)`),
		at(codeRefused, "the connection is refused: nothing listens on that port", "", `Connection refused`),
		at(codeRoute, "there is no way to it: %s", "", `(No route to host|Network is unreachable|Host is down)`),
		at(codeTimeout, "no answer: %s", "is it up, is that its address and port, does a firewall drop what comes? --connect-timeout gives it longer", `((?:[Cc]onnection|[Oo]peration) timed out(?: during banner exchange)?|Connection to \S+ port \d+ timed out)`),
		at(codeAlgorithms, "it and this client have no algorithm in common: %s", "ssh -Q lists what there is; --ssh-option allows more", `(no matching .*)`),
		at(codeAuth, "it takes none of the first keys, and does not wait for more", "--ssh-option IdentitiesOnly=yes offers only those that are named", `Too many authentication failures`),
		at(codeAuth, "%s is not let in", "ssh-add -l lists the keys that are offered; "+byHand+" tries it by hand", `(\S+)@\S+: Permission denied`),
		at(codeAuth, "nobody is let in: %s", "", `(Permission denied.*|Authentication failed.*|No supported authentication methods.*)`),
		at(codeBusy, "sshd there ended the connection before a login; it may have too many at once", "",
			`kex_exchange_identification|ssh_exchange_identification|banner exchange: |Exceeded MaxStartups|Not allowed at this time|Connection reset by`),
		at(codeBusy, "%s", "it is starting up or going down, and lets in root alone; tenet ping --wait waits for it", `(.*(?:System is booting up|System is going down|pam_nologin).*)`),
		at(codeAuth, "sshd there ended the connection before a login: %s", "an account that has expired, or that PAM keeps out, is told so; journalctl -u ssh there tells more, and "+byHand+" tries it by hand",
			`(\S.*)\s+Connection closed by `),
		at(codeBusy, "sshd there ended the connection before a login: %s", "journalctl -u ssh there says why: it may keep the account out, or have too many at once", `(Connection closed by .*)`),
		at(codeCut, "the connection was cut", "", `Timeout, server .* not responding|[Bb]roken pipe|closed by remote host|Connection reset`),
		at(codeShell, "it opens no session", "", `(?:shell|exec) request failed`),
	}
}

// manualCommand is how one would connect to a host.
func (h *Host) manualCommand() string {
	line := "ssh"
	if h.Port != 0 {
		line += fmt.Sprint(" -p ", h.Port)
	}
	if h.User != "" {
		line += " -l " + Quote(h.User)
	}
	return line + " " + Quote(h.Address)
}

// knownHostsName is a host's name in known_hosts.
func (h *Host) knownHostsName() string {
	if h.Port == 0 || h.Port == 22 {
		return h.Address
	}
	return fmt.Sprintf("[%s]:%d", h.Address, h.Port)
}

// clientWarning is what the client says by itself though nothing is the matter: it is not the host's
// reason for anything.
var clientWarning = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:Warning: (?:Permanently added|Identity file) |\*\* (?:WARNING: connection|This session|The server) ).*\n?`)
})

// clientFailure explains what the client says of a connection that was not made.
func (a *attempt) clientFailure(text string) *Error {
	text = clientWarning().ReplaceAllString(text, "")
	for _, s := range signs(a.host) {
		found := s.pattern.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		e := &Error{Retryable: s.retryable, Reached: s.code == codeShell, HintError: diag.HintError{Code: s.code, Message: s.message, Hint: cmp.Or(s.hint, a.host.cure(s.code))}}
		if strings.Contains(s.message, "%s") {
			e.Message = fmt.Sprintf(s.message, privilege.LastLine(found[1]))
		}
		return e
	}
	return newError(codeSSH, join("no connection", privilege.LastLine(text)), a.host.cure(codeSSH))
}

// becomeFailure is a refusal of sudo or doas.
func (a *attempt) becomeFailure(r *privilege.Refusal) *Error {
	return &Error{Reached: true, terminal: r.Kind == privilege.NeedsTerminal, HintError: r.HintError}
}

// becomeRequest is what is refused.
func (a *attempt) becomeRequest() privilege.Request {
	r := a.host.Become.request(a.nonce, false)
	r.Login = a.login
	return r
}
