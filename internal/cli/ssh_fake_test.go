package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenetcm/tenet/internal/version"
)

// fakeSSH stands in for the OpenSSH client: hosts/ADDRESS of the script's folder is the
// machine there, a tree below which the runner acts, or, where there is hosts/ADDRESS.bare,
// this one, so that programs can be run there, or hosts/ADDRESS.faulty, a runner that panics. What a file hosts/ADDRESS.says holds
// is said in place of a connection. The logins are counted in hosts/ADDRESS.logins.
func fakeSSH() {
	at := slices.Index(os.Args, "--")
	if at < 0 || len(os.Args) != at+3 {
		fmt.Fprintf(os.Stderr, "ssh: this is no way to call it: %q\n", os.Args)
		os.Exit(255)
	}
	host := filepath.Join(os.Getenv("HOSTS"), os.Args[at+1])
	if says, err := os.ReadFile(host + ".says"); err == nil {
		os.Stderr.Write(says)
		os.Exit(255)
	}
	if info, err := os.Stat(host); err != nil || !info.IsDir() {
		fmt.Fprintf(os.Stderr, "ssh: Could not resolve hostname %s: Name or service not known\r\n", os.Args[at+1])
		os.Exit(255)
	}
	logins, err := os.OpenFile(host+".logins", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintf(logins, "%q\n", os.Args[1:at])
		err = logins.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ssh:", err)
		os.Exit(255)
	}
	env := []string{"PATH=" + os.Getenv("FAKEBIN") + ":" + os.Getenv("PATH"), "HOME=" + host + ".home", "FAKEROOT=" + host, "GORACE=" + race}
	remote := exec.Command("/bin/sh", "-c", os.Args[at+2])
	remote.Env, remote.Stdin, remote.Stdout, remote.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	remote.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // on another machine no signal reaches it
	err = remote.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() > 0 {
		os.Exit(ended.ExitCode()) // as the client does
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ssh:", err)
		os.Exit(255)
	}
}

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
	bin := filepath.Join(env.WorkDir, ".bin")
	for name, text := range map[string]string{
		filepath.Join(env.WorkDir, "home", ".cache", "tenet", "runners", version.String(), "tenet-runner-linux-"+arch): fakeRunner,
		filepath.Join(bin, "id"): "#!/bin/sh\ncase $1 in -u) echo 1000;; *) echo somebody;; esac\n",
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
