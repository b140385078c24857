package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/fault"
)

// useSecrets lets the site at path have its secrets.
func (s *client) useSecrets(ctx context.Context, c *site, path string) error {
	dir, err := openSecrets(path)
	if err != nil {
		return err
	}
	c.secrets = &secrets.Store{Site: dir.root.FS(), Identities: s.identities(ctx)}
	c.SecretFiles = c.secrets.Digests
	// A passphrase takes its time by design, the more so on a small machine.
	c.Target.Secrets = func(name string) (value string, err error) {
		s.outsideEvaluation(func() { value, err = c.secrets.Value(name) })
		return value, err
	}
	c.Target.SecretsHidden = s.secretsHidden
	if s.secretsHidden {
		c.Target.Secrets = c.secrets.Check
	}
	return nil
}

// identities gives the keys that may open secrets: those of --identity, of
// TENET_IDENTITY, or the user's own SSH keys; and a passphrase that is asked for
// when it is needed. They are read once, so that nobody is asked twice.
func (s *client) identities(ctx context.Context) func() ([]secrets.Identity, error) {
	return func() ([]secrets.Identity, error) {
		if s.keys != nil {
			return s.keys, nil
		}
		names := s.globals.Identity
		if len(names) == 0 {
			names = filepath.SplitList(s.getenv("TENET_IDENTITY"))
		}
		given := len(names) > 0
		if home := s.getenv("HOME"); !given && home != "" {
			names = []string{filepath.Join(home, ".ssh/id_ed25519"), filepath.Join(home, ".ssh/id_rsa")}
		}
		var ids []secrets.Identity
		var list diag.List
		for _, name := range names {
			id, err := s.identity(ctx, name)
			switch {
			case !given && errors.Is(err, fs.ErrNotExist):
			case err != nil && given:
				list.Add(diag.From(err)...)
			case err != nil: // it is said where no other opens a file
				ids = append(ids, secrets.UnusableIdentity(name, err))
			default:
				ids = append(ids, id)
			}
		}
		ids = append(ids, secrets.PassphraseIdentity(func() (string, error) {
			return s.passphrase(ctx, "Passphrase of the secrets: ", "TENET_PASSPHRASE_FILE")
		}))
		if err := list.Err(); err != nil {
			return nil, err
		}
		s.keys = ids
		return ids, nil
	}
}

// identity reads the file of a private key, which may be a pipe.
func (s *client) identity(ctx context.Context, name string) (secrets.Identity, error) {
	data, err := readSome(name, 1<<20)
	if err != nil {
		return secrets.Identity{}, &explanation{diag.Diagnostic{Severity: diag.Error, Range: diag.Range{File: name},
			Summary: fmt.Sprintf("the key cannot be read: %v", err),
			Hint:    "--identity and TENET_IDENTITY name the file of a private key, of age-keygen or SSH"}, err}
	}
	public, err := readSome(name+".pub", 1<<16)
	if err != nil {
		public = nil // few keys need it, and then it is said
	}
	return secrets.ParseIdentity(secrets.IdentityFile{Name: name, Data: data, Public: public, Passphrase: func() (string, error) {
		return s.passphrase(ctx, "Passphrase of "+name+": ", "TENET_PASSPHRASE_FILE")
	}})
}

// explanation is a diagnostic with its cause, for programs.
type explanation struct {
	diag.Diagnostic
	cause error
}

// Unwrap gives the diagnostic, and the cause.
func (e *explanation) Unwrap() []error { return []error{e.Diagnostic, e.cause} }

// readSome reads a file that is not longer than limit.
func readSome(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is too long", name)
	}
	return data, err
}

// recipients are those of a file, with a way to ask for a new passphrase.
func (s *client) recipients(ctx context.Context, dir *secretsDir, name string) (*secrets.Recipients, error) {
	to, err := dir.recipients(name)
	if err != nil {
		return nil, err
	}
	to.WorkFactor = s.WorkFactor
	to.Passphrase = func() (string, error) {
		if s.newPassphrase != "" {
			return s.newPassphrase, nil
		}
		variable := "TENET_NEW_PASSPHRASE_FILE"
		if s.getenv(variable) == "" {
			variable = "TENET_PASSPHRASE_FILE"
		}
		text, err := s.passphrase(ctx, "New passphrase of the secrets: ", variable)
		if err == nil && s.getenv(variable) == "" {
			again, wrong := s.passphrase(ctx, "The same again: ", variable)
			if err = wrong; err == nil && again != text {
				err = diag.Diagnostic{Severity: diag.Error, Summary: "the passphrases differ", Hint: "try again; nothing was changed"}
			}
		}
		if err != nil {
			return "", err
		}
		s.newPassphrase = text
		return text, nil
	}
	return to, nil
}

// passphrase reads a passphrase: the first line of the file that an environment
// variable names, which may be a pipe such as /dev/fd/3; or from the terminal.
func (s *client) passphrase(ctx context.Context, prompt, variable string) (string, error) {
	name := s.getenv(variable)
	if name == "" {
		var text string
		var err error
		ask := func() { text, err = s.askSecret(ctx, prompt) }
		if aside := s.pauseDisplay; aside != nil {
			alone := ask
			ask = func() { aside(alone) }
		}
		s.outsideEvaluation(ask)
		return text, err
	}
	data, err := readSome(name, 1<<16)
	if err != nil {
		return "", diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("%s: %v", variable, err),
			Hint: "it names a file, whose first line is the passphrase"}
	}
	text, _, _ := strings.Cut(string(data), "\n")
	if text = strings.TrimSuffix(text, "\r"); text == "" {
		return "", diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("%s: %s is empty", variable, name),
			Hint: "its first line is the passphrase"}
	}
	return text, nil
}

// askSecret asks on the terminal for what must not be seen.
func (c *console) askSecret(ctx context.Context, prompt string) (string, error) {
	tty, isFile := c.In.(*os.File)
	if _, ok := terminal(c.In); !ok || !isFile {
		if _, ok := terminal(c.Err); !ok {
			return "", noTerminal(prompt)
		}
		var err error
		if tty, err = os.OpenFile("/dev/tty", os.O_RDWR, 0); err != nil {
			return "", noTerminal(prompt)
		}
		defer tty.Close()
	}
	fd := int(tty.Fd())
	former, err := term.GetState(fd)
	if err == nil {
		err = disableEcho(fd) // before the question is there, which may be answered at once
	}
	if err != nil {
		return "", failure(err)
	}
	defer fmt.Fprintln(c.Err)
	fmt.Fprint(c.Err, ui.Clean(prompt))
	type reply struct {
		text []byte
		err  error
	}
	answered := make(chan reply, 1)
	fault.Go(func() {
		text, err := term.ReadPassword(fd)
		answered <- reply{text, errors.Join(err, term.Restore(fd, former))}
	})
	select {
	case <-ctx.Done(): // the terminal must show again what is typed
		return "", errors.Join(&status{code: exitInterrupted, err: errInterrupted}, term.Restore(fd, former))
	case a := <-answered:
		if a.err != nil && !errors.Is(a.err, io.EOF) {
			return "", failure(a.err)
		}
		return string(a.text), nil
	}
}

// disableEcho keeps a terminal from showing what is typed on it.
func disableEcho(fd int) error {
	settings, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	settings.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(fd, unix.TCSETS, settings)
}

func noTerminal(prompt string) error {
	what, _, _ := strings.Cut(strings.ToLower(prompt[:1])+prompt[1:], ":")
	return diag.Diagnostic{Severity: diag.Error, Summary: "there is no terminal to ask on for the " + what,
		Hint: "a passphrase may be in a file: TENET_PASSPHRASE_FILE=FILE, or /dev/fd/3 for a descriptor"}
}

// question asks on the terminal for a line that may be seen; ok is false without
// one.
func (c *console) question(ctx context.Context, prompt string) (yes, ok bool) {
	if _, tty := terminal(c.In); !tty {
		return false, false
	}
	fmt.Fprint(c.Err, prompt)
	answered := make(chan string, 1)
	fault.Go(func() {
		text, err := bufio.NewReader(c.In).ReadString('\n')
		if err != nil {
			text = "n"
		}
		answered <- strings.ToLower(strings.TrimSpace(text))
	})
	select {
	case <-ctx.Done():
		return false, true
	case a := <-answered:
		return a == "" || a == "y" || a == "yes", true
	}
}
