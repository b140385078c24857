package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	w = becoming(t, "doas", "unused", `[ "$1 $2 $3" = "-n -u root" ] || exit 9; shift 3; exec "$@"`)
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

// A wrong password is given once: more would lock the account.
func TestWrongPassword(t *testing.T) {
	w := becoming(t, "", "wrong", sudo)
	e := w.fails(t)
	if e.Code != codeBecome || e.Message != "the password of deploy is not the right one for sudo" || !e.Reached {
		t.Errorf("%+v", e)
	}
	if asked, err := os.ReadFile(filepath.Join(w.home, "asked")); err != nil || string(asked) != "wrong\n" {
		t.Errorf("%q %v", asked, err)
	}
}

func TestBecomeRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ method, script, message, hint string }{
		{"sudo", "echo sudo: a password is required >&2; exit 1", "sudo wants a password to let deploy become root", "deploy ALL=(ALL) NOPASSWD: ALL in /etc/sudoers.d/tenet, or --ask-become-pass"},
		{"sudo", "echo sudo: Ein Passwort ist notwendig >&2; exit 1", "sudo does not let deploy become root: sudo: Ein Passwort ist notwendig", "NOPASSWD"},
		{"sudo", "echo deploy is not in the sudoers file. >&2; exit 1", "sudo does not let deploy become root", "NOPASSWD"},
		{"sudo", "echo sudo: sorry, you must have a tty to run sudo >&2; exit 1", "wants a terminal", "Defaults:deploy !requiretty"},
		{"sudo", "echo sudo: unknown user root >&2; exit 1", "no account root", ""},
		{"sudo", "echo sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set >&2; exit 1", "cannot work there", ""},
		{"doas", "echo doas: Operation not permitted >&2; exit 1", "doas does not let deploy become root", "permit nopass deploy as root in /etc/doas.conf"},
		{"doas", "echo doas: Authentication required >&2; exit 1", "doas wants a password", "permit nopass"},
	} {
		e := becoming(t, test.method, "", test.script).fails(t)
		if e.Code != codeBecome || !strings.Contains(e.Message, test.message) || !strings.Contains(e.Hint, test.hint) || !e.Reached {
			t.Errorf("%s: %+v", test.script, e)
		}
	}
	w := becoming(t, "sudo", "", "")
	w.host.Options = append([]string{"Path=" + w.bin + ":" + only(t, "sh")}, w.host.Options...)
	if e := w.fails(t); e.Code != codeBecome || e.Message != "sudo is not installed there" {
		t.Errorf("%+v", e)
	}
}
