package ssh

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/wire"
)

// hostile is every byte that an argument can hold, and what shells take for something
// else.
func hostile() string {
	out := `a 'b' "c" $HOME !x !! \n \\ ''\'; touch /tmp/x -- é *?[~` + "`id`$(id){a,b}#|&<>^%=:"
	for c := 1; c < 256; c++ {
		out += string([]byte{byte(c)})
	}
	return out
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"": "''", "a": "a", "a b": "'a b'", "'": `\'`, "it's": `'it'\''s'`, `\`: `\\`, "a!": `'a'\!`, "~": "'~'", "=ls": "'=ls'", "-n": "-n",
	} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// What is quoted comes out of a shell as it was, of each one that is here.
func TestQuotePassesShells(t *testing.T) {
	words := []string{hostile(), "", "'", "!", "\\", "-", "~root", "%1", "{a,b}", "=x", "a\tb", "\x80\xff", "'!'\\'"}
	shells := []string{"sh"}
	for _, name := range []string{"bash", "dash", "busybox", "mksh", "ksh", "zsh", "fish", "tcsh"} {
		if _, err := exec.LookPath(name); err == nil {
			shells = append(shells, name)
		}
	}
	for _, shell := range shells {
		line, want := "printf %s.", ""
		for _, word := range words {
			if shell == "tcsh" { // it knows no way to write this one
				word = strings.ReplaceAll(word, "\n", "")
			}
			if word != "" {
				line += " " + Quote(word)
				want += word + "."
			}
		}
		argv := []string{shell, "-c", line}
		if shell == "busybox" {
			argv = []string{"busybox", "sh", "-c", line}
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		// Some write in the home folder, or complain where they cannot, and of a locale that is not there.
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		got, err := cmd.CombinedOutput()
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\ngot  %q\nwant %q", shell, err, got, want)
		}
	}
}

func TestQuoteIsOneWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune(`ab '\!"$-`+"`\n\t*é")), 0, 20, -1).Draw(t, "text")
		// A reader of its own: quotes keep all but a quote, a backslash keeps one.
		var got strings.Builder
		for rest := Quote(text); rest != ""; {
			switch rest[0] {
			case '\'':
				inside, after, ok := strings.Cut(rest[1:], "'")
				if !ok || strings.ContainsAny(inside, `\!`) {
					t.Fatalf("%s", Quote(text))
				}
				got.WriteString(inside)
				rest = after
			case '\\':
				got.WriteByte(rest[1])
				rest = rest[2:]
			default:
				if !strings.Contains(safe, rest[:1]) {
					t.Fatalf("%s", Quote(text))
				}
				got.WriteByte(rest[0])
				rest = rest[1:]
			}
		}
		if got.String() != text {
			t.Fatalf("%q became %q", text, got.String())
		}
	})
}

// A login shell may be any shell: the scripts use nothing that one of them reads
// otherwise.
func TestScriptsPassLoginShells(t *testing.T) {
	for _, script := range []string{startScript, becomeScript} {
		line := oneLine(script)
		if strings.ContainsAny(line, "'!\n\t") || strings.Contains(line, `\\`) {
			t.Errorf("%s", line)
		}
		if quoted := Quote(line); strings.Count(quoted, "'") != 2*(strings.Count(line, `\`)+1) {
			t.Errorf("%s", quoted)
		}
	}
}

func TestArgv(t *testing.T) {
	c := &Client{Options: []string{"Port=1"}}
	h := Host{Name: "web1", Address: "web1.example", Port: 2222, User: "deploy", Options: []string{"ServerAliveInterval=60"}}
	want := strings.Fields("ssh -T -e none -o BatchMode=yes -o RemoteCommand=none -o RequestTTY=no -o PermitLocalCommand=no -o ClearAllForwardings=yes " +
		"-o Port=1 -o ServerAliveInterval=60 -o ConnectTimeout=15 -o ServerAliveInterval=10 -o ServerAliveCountMax=3 -o LogLevel=INFO " +
		"-p 2222 -l deploy -- web1.example")
	if got := c.argv(h, "true; x"); !slices.Equal(got, append(want, "true; x")) {
		t.Errorf("%q", got)
	}
}

func TestWhatCannotBePassedOn(t *testing.T) {
	for _, h := range []Host{
		{}, {Address: "-oProxyCommand=x"}, {Address: "a\nb"}, {Address: "a", Port: 70000}, {Address: "a", User: "a\x00"},
		{Address: "a", Options: []string{"A=b\nc"}}, {Address: "a", Cache: "tenet"},
		{Address: "a", Become: Become{User: "root", Method: "su"}}, {Address: "a", Become: Become{User: "-i"}},
		{Address: "a", Become: Become{User: "root", Password: "a\nb"}},
	} {
		e, ok := h.check().(*Error)
		if !ok || e.Code != codeConfig || e.Reached {
			t.Errorf("%+v: %v", h, e)
		}
	}
}

func TestOpeningArrivesWhole(t *testing.T) {
	w := newWorld(t)
	o := wire.Opening{Facts: []string{"os", "--x", "*"}, Site: "-rf", StateDir: "/" + strings.ToValidUTF8(hostile(), ""), Root: "/a\nb"}
	want, err := json.Marshal([]string{"--facts=os,--x,*", "--site=-rf", "--state-dir=" + o.StateDir, "--root=/a\nb"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(w.dial(t, o).Facts["args"]); got != string(want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Whatever the login shell is, and whatever /bin/sh is.
func TestShells(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"Shell=tcsh", "Shell=fish", "Shell=zsh", "Shell=mksh", "Shell=bash", "Sh=bash", "Sh=busybox sh", "Sh=mksh", "Sh=ksh", "Sh=dash"} {
		_, program, _ := strings.Cut(option, "=")
		if _, err := exec.LookPath(strings.Fields(program)[0]); err != nil {
			continue // sh is here anyway: TestColdThenWarm
		}
		w := newWorld(t, option)
		w.host.Cache = filepath.Join(w.home, "a 'b' $c\\n!")
		for range 2 {
			w.dial(t, wire.Opening{StateDir: "/x '!\\"})
		}
		if n := strings.Count(w.notes.String(), "copying"); n != 1 {
			t.Errorf("%s: %s", option, w.notes)
		}
	}
}
