package ssh

import (
	"bufio"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/privilege"
)

// What OpenSSH says, of versions from 7.4 to 10.
func TestReasons(t *testing.T) {
	for _, test := range []struct {
		code    string
		again   bool
		message string
		text    string
	}{
		{codeHostKey, false, "not the one that is known", "@@@@@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@@@@@@\nIT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\nOffending ED25519 key in /home/a/.ssh/known_hosts:3\nHost key for web1 has changed and you have requested strict checking.\nHost key verification failed."},
		{codeHostKey, false, "not known here", "No ED25519 host key is known for web1 and you have requested strict checking.\r\nHost key verification failed."},
		{codeHostKey, false, "not known here", "Host key verification failed."},
		{codeHostKey, false, "revoked", "@       WARNING: REVOKED HOST KEY DETECTED!               @\nThe ED25519 host key for web1 is marked as revoked.\nHost key verification failed."},
		{codeConfig, false, "Bad configuration option: foo", "/home/a/.ssh/config: line 3: Bad configuration option: foo\n/home/a/.ssh/config: terminating, 1 bad configuration options"},
		{codeConfig, false, "Bad configuration option: nosuch", "command-line: line 0: Bad configuration option: nosuch"},
		{codeConfig, false, "Bad owner or permissions", "Bad owner or permissions on /home/a/.ssh/config"},
		{codeName, false, "web1: Name or service not known", "ssh: Could not resolve hostname web1: Name or service not known"},
		{codeRefused, false, "refused", "ssh: connect to host web1 port 22: Connection refused"},
		{codeRefused, false, "refused", "ssh: connect to host gate port 22: Connection refused\nkex_exchange_identification: Connection closed by remote host\nConnection closed by UNKNOWN port 65535"},
		{codeRoute, false, "No route to host", "ssh: connect to host 10.0.0.1 port 22: No route to host"},
		{codeTimeout, false, "Connection timed out", "ssh: connect to host 10.0.0.1 port 22: Connection timed out"},
		{codeTimeout, false, "timed out during banner exchange", "Connection timed out during banner exchange\nConnection to 127.0.0.1 port 22 timed out"},
		{codeTimeout, false, "10.0.0.1 port 22 timed out", "Connection to 10.0.0.1 port 22 timed out"},
		{codeAlgorithms, false, "no matching host key type found. Their offer: ssh-rsa", "Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-rsa"},
		{codeAuth, false, "deploy is not let in", "deploy@web1: Permission denied (publickey,password)."},
		{codeAuth, false, "Permission denied", "Permission denied (publickey)."},
		{codeAuth, false, "deploy is not let in", "Warning: Identity file /x not accessible: No such file or directory.\ndeploy@web1: Permission denied (publickey)."},
		{codeAuth, false, "none of the first keys", "Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures\nDisconnected from 10.0.0.1 port 22"},
		{codeProxy, false, "connect failed: Connection", "channel 0: open failed: connect failed: Connection timed out\nstdio forwarding failed\nConnection closed by UNKNOWN port 65535"},
		{codeBusy, true, "too many at once", "kex_exchange_identification: Connection closed by remote host\nConnection closed by 10.0.0.1 port 22"},
		{codeBusy, true, "too many at once", "kex_exchange_identification: read: Connection reset by peer\nConnection reset by 10.0.0.1 port 22"},
		{codeBusy, true, "too many at once", "ssh_exchange_identification: Connection closed by remote host"},
		{codeBusy, true, "too many at once", "kex_exchange_identification: banner line contains invalid characters\nbanner exchange: Connection to 127.0.0.1 port 22: Not allowed at this time"},
		{codeBusy, true, "before a login: Connection closed by 10.0.0.1 port 22", "Connection closed by 10.0.0.1 port 22"},
		{codeBusy, true, "before a login: Connection closed by", "Warning: Permanently added '10.0.0.1' (ED25519) to the list of known hosts.\r\nConnection closed by 10.0.0.1 port 22\r\n"},
		{codeAuth, false, "before a login: Your account has expired; please contact your system administrator.", "Your account has expired; please contact your system administrator.\nConnection closed by 10.0.0.1 port 22"},
		{codeAuth, false, "before a login: Ihr Konto ist abgelaufen", "Authorised users only.\r\n\r\nIhr Konto ist abgelaufen\r\n** WARNING: connection is not using a post-quantum key exchange algorithm.\r\nConnection closed by 10.0.0.1 port 22"},
		{codeBusy, true, "System is booting up", "\"System is booting up. Unprivileged users are not permitted to log in yet. Please come back later. For technical details, see pam_nologin(8).\"\nConnection closed by 10.0.0.1 port 22"},
		{codeCut, true, "cut", "Timeout, server web1 not responding."},
		{codeCut, true, "cut", "client_loop: send disconnect: Broken pipe"},
		{codeShell, false, "no session", "exec request failed on channel 0"},
		{codeSSH, false, "no connection: something new", "noise\nsomething new\n"},
		{codeSSH, false, "no connection", ""},
	} {
		a := &attempt{host: Host{Address: "web1"}}
		text := privilege.NewPasswordPrompt(privilege.PromptConfig{})
		for _, piece := range strings.SplitAfter(test.text, " ") {
			if _, err := text.Write([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		e := a.clientFailure(text.Text())
		if e.Code != test.code || e.Retryable != test.again || !strings.Contains(e.Message, test.message) || strings.ContainsAny(e.Message, "\n\r") {
			t.Errorf("%q: %+v", test.text, e)
		}
		if e.Hint == "" {
			t.Errorf("%q: nothing that helps", test.text)
		}
	}
}

// Whatever goes wrong, there is something to look at or to type.
func TestCures(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	h := Host{Address: "web1", Port: 2222, User: "deploy"}
	other, codes := h.cure("anything else"), 0
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "code") {
			return true
		}
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes++
		cure := h.cure(code)
		switch {
		case code == codeInterrupted:
		case cure == "" || cure == other && code != codeSSH:
			t.Errorf("%s: %q", code, cure)
		}
		return true
	})
	if codes < 20 {
		t.Errorf("only %d codes were found", codes)
	}

	// What scripts and the runner say goes through one place, which sees to it.
	p := &process{stderr: privilege.NewPasswordPrompt(privilege.PromptConfig{})}
	for _, what := range []string{"sudo", "doas", "home", "owner", "noexec", "uname", "size", "write"} {
		a := &attempt{ctx: t.Context(), host: h, p: p}
		if e := a.failure(&scriptError{what, "/home/a/.cache"}, nil); e.Hint == "" {
			t.Errorf("%s: %+v", what, e)
		}
	}
	for _, a := range []*attempt{{running: true}, {upload: make(chan struct{})}, {login: "deploy"}, {connected: true}, {}} {
		a.ctx, a.client, a.host, a.p = t.Context(), &Client{}, h, p
		if e := a.failure(nil, errTimeout); e.Hint == "" {
			t.Errorf("%+v", e)
		}
	}
	for _, wrong := range []Host{{}, {Address: "-x"}, {Address: "x", Port: -1}, {Address: "x", Cache: "x"}, {Address: "x\n"},
		{Address: "x", Become: Become{User: "u", Method: "su"}}, {Address: "x", Become: Become{User: "-u"}}, {Address: "x", Become: Become{Password: "\n"}}} {
		var e *Error
		if err := wrong.check(); !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

func TestListen(t *testing.T) {
	for text, want := range map[string]string{
		"<tenet n run>\n\x00\x00":                  "run||",
		"hello\n<tenet n new Linux_x86_64 gzip>\n": "new|Linux_x86_64 gzip|hello\n",
		"<tenet <tenet n fail write /a>b>\n":       "fail|write /a>b|<tenet ",
		"<tenet m run>\n":                          "||<tenet m run>\n EOF",
		"<tenet n run":                             "||unexpected",
		"":                                         "|| EOF",
		strings.Repeat("x", maxNoise+99):           "too much",
		"<tenet n " + strings.Repeat("x", maxAnswer+9): "cannot be read",
	} {
		a, noise, err := readAnswer(bufio.NewReader(strings.NewReader(text)), "n")
		got := a.word + "|" + a.rest + "|" + noise
		if err != nil {
			got += " " + err.Error()
		}
		if !strings.Contains(got, strings.TrimPrefix(want, "||unexpected")) {
			t.Errorf("%.60q: %.80q, want %q", text, got, want)
		}
	}
}

// Whatever comes first, an answer behind it is found, and nothing is read beyond it.
func FuzzListen(f *testing.F) {
	f.Add("", "run")
	f.Add("banner\n<tenet ", "new Linux_x86_64 gzip")
	f.Add("<tenet 00 run>", "fail write /a > b")
	f.Fuzz(func(t *testing.T, noise, text string) {
		in := bufio.NewReader(strings.NewReader(noise))
		for { // garbage alone: it ends
			if _, _, err := readAnswer(in, "6e6f6e6365"); err != nil {
				break
			}
		}
		const mark = "<tenet 6e6f6e6365 "
		if len(noise) > maxNoise || len(text) > maxAnswer || strings.Contains(text, ">\n") || strings.Contains(noise+mark[:len(mark)-1], mark) {
			return
		}
		in = bufio.NewReader(strings.NewReader(noise + mark + text + ">\n" + "rest"))
		a, before, err := readAnswer(in, "6e6f6e6365")
		word, rest, _ := strings.Cut(text, " ")
		left := make([]byte, 4)
		if n, readErr := in.Read(left); err != nil || a.word != word || a.rest != rest || before != noise || readErr != nil || string(left[:n]) != "rest" {
			t.Fatalf("%q %q %v, and %q is left", a, before, err, left)
		}
	})
}

func TestByHand(t *testing.T) {
	h := Host{Address: "web 1", Port: 2222, User: "deploy"}
	if got := h.manualCommand() + " " + h.knownHostsName(); got != "ssh -p 2222 -l deploy 'web 1' [web 1]:2222" {
		t.Error(got)
	}
	h = Host{Address: "web1", Port: 22}
	if got := h.manualCommand() + " " + h.knownHostsName(); got != "ssh -p 22 web1 web1" {
		t.Error(got)
	}
}
