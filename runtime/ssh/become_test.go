package ssh

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/privilege/privilegetest"
	"github.com/tenetcm/tenet/runtime/wire"
)

// sudo is one that takes the password "right", and asks three times.
const sudo = `
while :; do
  case $1 in
    -n) no=1;; -H|-S) ;; -p) shift; prompt=$1;; -u) shift; user=$1;; --) shift; break;; *) break;;
  esac
  shift
done
[ -z "$no" ] || { echo "sudo: a password is required" >&2; exit 1; }
for i in 1 2 3; do
  printf %s "$prompt" >&2
  read -r given || exit 1
  echo "$given" >> "$HOME/asked"
  if [ "$given" = right ]; then
    id() { [ "$1" = -un ] && echo "$user" || echo 1000; }
    exec "$@"
  fi
  echo "Sorry, try again." >&2
done
echo "sudo: 3 incorrect password attempts" >&2
exit 1`

func becoming(t *testing.T, method, password, script string) *world {
	w := newWorld(t)
	w.host.Become = Become{User: "root", Method: method, Password: password}
	if script != "" {
		name := method
		if name == "" {
			name = "sudo"
		}
		w.tool(t, name, script)
	}
	return w
}

func TestBecome(t *testing.T) {
	w := becoming(t, "", "", `[ "$1 $2 $3 $4 $5" = "-n -H -u root --" ] || exit 9; shift 5; exec "$@"`)
	w.dial(t, wire.Opening{StateDir: "/a 'b"})
	w.dial(t, wire.Opening{})
	w = becoming(t, "doas", "", `[ "$1 $2 $3 $4" = "-n -u root --" ] || exit 9; shift 4; exec "$@"`)
	w.dial(t, wire.Opening{})
	// Who is it already needs nothing.
	w = becoming(t, "sudo", "", "exit 9")
	w.tool(t, "id", "case $1 in -un) echo root;; *) echo 1000;; esac")
	w.dial(t, wire.Opening{})
}

func TestBecomeWithPassword(t *testing.T) {
	t.Parallel()
	w := becoming(t, "", "right", sudo)
	for range 2 {
		hello := w.dial(t, wire.Opening{})
		if strings.Contains(string(hello.Facts["args"]), "right") {
			t.Error("the password is in the arguments")
		}
	}
	// Who is not asked is not told.
	w = becoming(t, "", "right", `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`)
	w.dial(t, wire.Opening{})
}

// Who is the other account already may ask what sudo would ask, and gets nothing.
func TestPasswordIsForSudo(t *testing.T) {
	t.Parallel()
	w := becoming(t, "", "right", `while [ "$1" != -- ]; do [ "$1" != -p ] || { PROMPT=$2; export PROMPT; }; shift; done; shift; exec "$@"`)
	w.dial(t, wire.Opening{})
	found := w.cached(t)[0]
	honest, err := os.ReadFile(found)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.home, "honest"), string(honest)) // what it passes for
	asks := strings.NewReplacer("\n", "\nprintf %s \"$PROMPT\" >&2; sleep 0.2\n", "$0", filepath.Join(w.home, "honest")).Replace(strings.TrimSpace(string(honest)))
	if err := os.WriteFile(found, []byte(asks), 0o700); err != nil {
		t.Fatal(err)
	}
	w.dial(t, wire.Opening{}) // a password in front of what follows would end it
}

// doas is one that takes the password "right", once, from its terminal alone.
const doas = `
[ "$1" != -n ] || { echo "doas: Authentication required" >&2; exit 1; }
[ "$1 $2 $3" = "-u root --" ] || exit 9
shift 3
[ -n "$nopass" ] || {
  printf "\rdoas (deploy@web1) password: " > /dev/tty || exit 8
  read -r given < /dev/tty || exit 1
  echo >/dev/tty
  echo "$given" >> "$HOME/asked"
  [ "$given" = right ] || { echo "doas: Authentication failed" >&2; exit 1; }
}
id() { [ "$1" = -un ] && echo root || echo 0; }
XDG_CACHE_HOME=$HOME/root; export XDG_CACHE_HOME
exec "$@"`

// Who takes a password from a terminal alone gets one, by the runner of who logs in. It
// is brought to both accounts, once.
func TestBecomeOnTerminal(t *testing.T) {
	t.Parallel()
	w := becoming(t, "doas", "right", doas)
	for range 2 {
		hello := w.dial(t, wire.Opening{StateDir: "/a 'b"})
		if said := string(hello.Facts["args"]); strings.Contains(said, "right") || !strings.Contains(said, "/a 'b") {
			t.Errorf("it is started with %s", said)
		}
		if !strings.HasPrefix(hello.User, filepath.Join(w.home, "root")) {
			t.Errorf("%s runs", hello.User)
		}
	}
	if got := w.notes.String(); strings.Count(got, "copying") != 2 {
		t.Errorf("%s", got)
	}
	if asked, err := os.ReadFile(filepath.Join(w.home, "asked")); err != nil || string(asked) != "right\nright\n" {
		t.Errorf("%q %v", asked, err)
	}
	// Each of the two is replaced where it is damaged.
	for _, dir := range []string{".cache", "root"} {
		found, err := filepath.Glob(filepath.Join(w.home, dir, "tenet/*/*"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%q %v", found, err)
		}
		write(t, found[0], "#!/bin/sh\nkill -11 $$\n")
		w.notes.Reset()
		w.dial(t, wire.Opening{})
		if got := w.notes.String(); !strings.Contains(got, "damaged") {
			t.Errorf("%s: %s", dir, got)
		}
	}
	// Who is not asked is not told.
	w.tool(t, "doas", "nopass=1\n"+doas)
	w.dial(t, wire.Opening{})
	if asked, err := os.ReadFile(filepath.Join(w.home, "asked")); err != nil || strings.Count(string(asked), "\n") != 5 {
		t.Errorf("%q %v", asked, err)
	}
	w.tool(t, "doas", doas)
	w.host.Become.Password = "wrong"
	if e := w.fails(t); e.Code != codeBecome || e.Message != "the password of deploy is not the right one for doas" || !e.Reached || !strings.Contains(e.Hint, "the password of deploy") {
		t.Errorf("%+v", e)
	}
	if asked, err := os.ReadFile(filepath.Join(w.home, "asked")); err != nil || strings.Count(string(asked), "wrong") != 1 {
		t.Errorf("%q %v", asked, err)
	}
	w.tool(t, "doas", "echo doas: Operation not permitted >&2; exit 1")
	if e := w.fails(t); e.Code != codeBecome || e.Message != "doas does not let deploy become root" || !strings.Contains(e.Hint, "permit nopass deploy") {
		t.Errorf("%+v", e)
	}
}

// Whoever is the other account is no relay: what says so once more is not waited for, and
// gets no runner as often as it likes.
func TestRelayIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	w := becoming(t, "doas", "right", doas)
	w.dial(t, wire.Opening{})
	w.tool(t, "doas", strings.Replace(doas, `exec "$@"`, `printf "<tenet %s run relay>\n" "$5"; exec "$@"`, 1))
	w.fails(t)
}

// The dialogue with sudo and doas of a connection.
func TestPrivilege(t *testing.T) {
	t.Parallel()
	privilegetest.Run(t, "deploy", func(t *testing.T, a privilegetest.Attempt) privilegetest.Outcome {
		w := becoming(t, a.Program, a.Password, a.Script)
		conn, _, err := w.Dial(t.Context(), w.host, wire.Opening{})
		if err == nil {
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			return privilegetest.Outcome{Started: true}
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Code != codeBecome || !e.Reached {
			t.Errorf("%+v", err)
		}
		return privilegetest.Outcome{Message: err.Error(), Hint: e.Hint}
	})
}

func TestBecomeByWhatIsNotThere(t *testing.T) {
	w := becoming(t, "sudo", "", "")
	w.host.Options = append([]string{"Path=" + w.bin + ":" + only(t, "sh")}, w.host.Options...)
	if e := w.fails(t); e.Code != codeBecome || e.Message != "sudo is not installed there" {
		t.Errorf("%+v", e)
	}
}
