package cli_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenetcm/tenet/internal/version"
)

// fakeSSH stands in for the OpenSSH client: hosts/ADDRESS of the script's folder is the
// machine there, a tree below which the runner acts, or, where there is hosts/ADDRESS.bare,
// this one, so that programs can be run there, or hosts/ADDRESS.faulty, a runner that panics. What a file hosts/ADDRESS.says holds
// is said in place of a connection. The logins are counted in hosts/ADDRESS.logins.
//
// It is a script, since this program takes ten times as long to start and there are many logins.
// The remote command has a session of its own: on another machine no signal reaches it.
const fakeSSH = `#!/bin/sh
options=
while test $# -gt 0 && test "$1" != --; do
  options="$options $1"
  shift
done
if test $# != 3; then
  echo "ssh: this is no way to call it:$options $*" >&2
  exit 255
fi
host=$HOSTS/$2
if test -e "$host.says"; then
  cat "$host.says" >&2
  exit 255
fi
if ! test -d "$host"; then
  printf 'ssh: Could not resolve hostname %s: Name or service not known\r\n' "$2" >&2
  exit 255
fi
printf '%s\n' "$options" >>"$host.logins" || exit 255
env -i PATH="$FAKEBIN:$PATH" HOME="$host.home" FAKEROOT="$host" GORACE="$GORACE" setsid /bin/sh -c "$3"
status=$?
test $status -le 128 || status=255 # as the client has it where a signal has ended the command
exit $status
`

// fakeRunner is what is sent to such hosts: this program, on the host's tree. It is not the
// file whose digest it is started with.
const fakeRunner = `#!/bin/sh
for a; do
  shift
  case $a in --digest=*) ;; *) set -- "$@" "$a";; esac
done
if test -e "$FAKEROOT.bare"; then
  exec tenet "$@" --state-dir="$FAKEROOT.state"
fi
if test -e "$FAKEROOT.faulty"; then
  TMPDIR=${FAKEROOT%/*} exec tenet-faulty "$@" --root="$FAKEROOT"
fi
exec tenet "$@" --root="$FAKEROOT"
`

// reachable lets scripts reach hosts by fakeSSH. Nobody is root there, so that the runner
// is put below the host's own home.
func reachable(env *testscript.Env) error {
	arch := runtime.GOARCH
	if arch == "arm" {
		arch = "armv7"
	}
	bin, client := filepath.Join(env.WorkDir, ".bin"), filepath.Join(env.WorkDir, ".client")
	for name, text := range map[string]string{
		filepath.Join(env.WorkDir, "home", ".cache", "tenet", "runners", version.String(), "tenet-runner-linux-"+arch): fakeRunner,
		filepath.Join(client, "ssh"): fakeSSH,
		filepath.Join(bin, "id"):     "#!/bin/sh\ncase $1 in -u) echo 1000;; *) echo somebody;; esac\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			return err
		}
	}
	env.Setenv("HOSTS", filepath.Join(env.WorkDir, "hosts"))
	env.Setenv("FAKEBIN", bin)
	env.Setenv("PATH", client+string(filepath.ListSeparator)+env.Getenv("PATH"))
	return nil
}

// logins counts the connections to hosts.
//
//	logins N ADDRESS…
func logins(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: logins N ADDRESS…")
	}
	for _, host := range args[1:] {
		if got := fmt.Sprint(strings.Count(read(ts, filepath.Join("hosts", host+".logins")), "\n")); got != args[0] {
			ts.Fatalf("%s logins on %s, want %s", got, host, args[0])
		}
	}
}

// inside wants a text in some file below a directory, or in its name.
//
//	inside DIR TEXT
func inside(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: inside DIR TEXT")
	}
	found, files := "", 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		files++
		if strings.Contains(name, args[1]) || bytes.Contains(data, []byte(args[1])) {
			found = name
		}
		return err
	}))
	switch {
	case files == 0:
		ts.Fatalf("there is no file below %s", args[0])
	case neg && found != "":
		ts.Fatalf("%q is in %s", args[1], found)
	case !neg && found == "":
		ts.Fatalf("%q is in none of %d files below %s", args[1], files, args[0])
	}
}
