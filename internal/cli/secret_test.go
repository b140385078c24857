package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/internal/cli"
	"github.com/tenetcm/tenet/lang/secrets"
)

// Many that set secrets at once, while others encrypt all anew, lose none.
func TestSecretsSetAtOnce(t *testing.T) {
	dir := t.TempDir()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"key": key.String(), "secrets.recipients": key.Recipient().String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(in string, args ...string) {
		var errs bytes.Buffer
		if got := cli.Main(args, cli.Environment{In: strings.NewReader(in), Out: &errs, Err: &errs}); got != 0 {
			t.Errorf("%v ends with %d: %s", args, got, errs.String())
		}
	}
	run("first", "secret", "set", "first", dir)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() { run(fmt.Sprint("value ", i), "secret", "set", fmt.Sprint("n", i), dir) })
		if i%4 == 0 {
			all.Go(func() { run("", "secret", "rekey", "--identity", filepath.Join(dir, "key"), dir) })
		}
	}
	all.Wait()
	store := &secrets.Store{Site: os.DirFS(dir), Identities: func() ([]secrets.Identity, error) {
		id, err := secrets.ParseIdentity(secrets.IdentityFile{Name: "key", Data: []byte(key.String())})
		return []secrets.Identity{id}, err
	}}
	for i := range 12 {
		if got, err := store.Value(fmt.Sprint("n", i)); got != fmt.Sprint("value ", i) || err != nil {
			t.Errorf("n%d is %q, %v", i, got, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// A dangling link is not written through.
func TestSecretsFollowNoLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, "secrets.age")); err != nil {
		t.Fatal(err)
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secrets.recipients"), []byte(key.Recipient().String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	got := cli.Main([]string{"secret", "set", "db", dir}, cli.Environment{In: strings.NewReader("x"), Out: &errs, Err: &errs})
	if got != 1 || !strings.Contains(errs.String(), "it is no regular file") {
		t.Errorf("%d: %s", got, errs.String())
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("it was written through a link")
	}
}

// typist answers a question as soon as it is on the terminal.
type typist struct {
	bytes.Buffer
	keyboard, terminal *os.File
	shown              bool // the terminal would have shown it
}

func (p *typist) Write(data []byte) (int, error) {
	if bytes.Contains(data, []byte("Value of quick")) {
		settings, err := unix.IoctlGetTermios(int(p.terminal.Fd()), unix.TCGETS)
		if err != nil {
			return 0, err
		}
		p.shown = settings.Lflag&unix.ECHO != 0
		if _, err := p.keyboard.WriteString("typed\n"); err != nil {
			return 0, err
		}
	}
	return p.Buffer.Write(data)
}

// What is typed does not show, however quick somebody is; afterwards it does again.
func TestSecretIsTypedAtOnce(t *testing.T) {
	dir := t.TempDir()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secrets.recipients"), []byte(key.Recipient().String()), 0o600); err != nil {
		t.Fatal(err)
	}
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	said := &typist{keyboard: keyboard, terminal: terminal}
	if got := cli.Main([]string{"secret", "set", "quick", dir}, cli.Environment{In: terminal, Out: said, Err: said}); got != 0 {
		t.Fatalf("it ends with %d: %s", got, said)
	}
	if said.shown || !strings.Contains(said.String(), "quick is set") {
		t.Errorf("what is typed shows: %v; it said %s", said.shown, said)
	}
	if settings, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS); err != nil || settings.Lflag&unix.ECHO == 0 {
		t.Errorf("afterwards nothing shows: %v", err)
	}
}
