package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
)

// Run lets the user edit the secrets of a file. It is not locked meanwhile: what
// was changed is put into the file as it is then.
func (cmd *secretEditCmd) Run(ctx runContext, s *client) error {
	dir, err := openSecrets(cmd.Path)
	if err != nil {
		return err
	}
	defer dir.close()
	e := &secretEdit{client: s, dir: dir, name: dir.onlyFile}
	if e.name == "" {
		e.name = "secrets.age"
	}
	if err := e.open(ctx); err != nil {
		return err
	}
	if err := wipeStale("/dev/shm", os.TempDir()); err != nil {
		return failure(err)
	}
	private, err := privateDir()
	if err != nil {
		return failure(err)
	}
	err = e.edit(ctx, filepath.Join(private, strings.TrimSuffix(filepath.Base(e.name), ".age")+".txt"))
	return errors.Join(err, failure(wipe(private)))
}

// secretEdit is the work of secret edit on one file.
type secretEdit struct {
	*client
	dir    *secretsDir
	name   string
	values map[string]string // values
	lines  map[string]string // as they were encrypted
}

// open decrypts the file.
func (e *secretEdit) open(ctx context.Context) error {
	e.values, e.lines = map[string]string{}, map[string]string{}
	file, list, err := e.dir.read(e.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = list.Err()
	}
	var ids []secrets.Identity
	if err == nil {
		ids, err = e.identities(ctx)()
	}
	var key *secrets.Key
	if err == nil {
		key, err = file.Open(ids)
	}
	if err == nil {
		e.values, err = key.Values()
	}
	if err != nil {
		return e.diagnoseSecrets(e.dir, diag.From(err))
	}
	for name := range e.values {
		e.lines[name] = file.EncryptedLine(name)
	}
	return nil
}

// edit runs the editor until the text is right, or the user gives up.
func (e *secretEdit) edit(ctx context.Context, path string) error {
	text := fmt.Sprintf("# The secrets in %s: NAME = VALUE; text of several lines between <<END and END.\n"+
		"# Lines that begin with # count for nothing. What is removed here is removed there.\n\n", e.name) + secrets.FormatText(e.values)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return failure(err)
	}
	for {
		if err := e.runEditor(ctx, path); err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return failure(fmt.Errorf("what was edited cannot be read: %w", err))
		}
		now, list := secrets.ParseText("the edited text", data)
		if !list.HasErrors() {
			list, err = e.store(ctx, now)
			if err != nil || !list.HasErrors() {
				return err
			}
		}
		err = e.show(list, func(string) ([]byte, bool) { return nil, false }) // no line of it is shown
		again, asked := e.question(ctx, "Edit it again? [Y/n] ")
		if !asked || !again {
			return errors.Join(err, e.say("Nothing was changed."))
		}
	}
}

// runEditor waits for the user's editor.
func (e *secretEdit) runEditor(ctx context.Context, path string) error {
	editor := e.getenv("VISUAL")
	if editor == "" {
		editor = e.getenv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, editor, path) // it may have arguments
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = e.In, e.Out, e.Err, e.Environ
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGHUP) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return &status{code: exitInterrupted, err: errInterrupted}
	}
	if err != nil {
		return newStatus(exitFailed, fmt.Errorf("nothing was changed: the editor %q: %w", editor, err), "EDITOR names the editor")
	}
	return nil
}

// store puts what was changed into the file; the list says what keeps it from
// that.
func (e *secretEdit) store(ctx context.Context, now map[string]string) (diag.List, error) {
	var changed, removed []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was, ok := e.values[name]; !ok || was != now[name] {
			changed = append(changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.values)) {
		if _, ok := now[name]; !ok {
			removed = append(removed, name)
		}
	}
	if len(changed)+len(removed) == 0 {
		return nil, e.say("Nothing was changed.")
	}
	var list diag.List
	err := e.withLock(ctx, e.dir, func() error {
		file, err := e.fileToSet(ctx, e.dir, e.name)
		if err != nil {
			return err
		}
		for _, name := range slices.Concat(changed, removed) {
			if file.EncryptedLine(name) != e.lines[name] {
				list.Add(diag.Diagnostic{Summary: name + " was changed meanwhile by somebody else",
					Hint: "take your change of it out, and start anew"})
			}
		}
		if list.HasErrors() {
			return nil
		}
		for _, name := range changed {
			if err := file.Set(name, now[name]); err != nil {
				return failure(err)
			}
		}
		for _, name := range removed {
			file.Remove(name)
		}
		return e.writeSecrets(e.dir, e.name, file)
	})
	if err != nil || list.HasErrors() {
		return list, err
	}
	return nil, e.say(fmt.Sprintf("%s: %d set, %d removed.", e.name, len(changed), len(removed)))
}

// privateDir makes a directory that nobody else can look into, in memory where
// that is possible.
func privateDir() (string, error) {
	name := fmt.Sprintf("%s%d-", privatePrefix, os.Getpid())
	if dir, err := os.MkdirTemp("/dev/shm", name); err == nil { // its mode is 0700
		return dir, nil
	}
	return os.MkdirTemp("", name)
}

// privatePrefix begins the names of such directories; the process that uses one follows.
const privatePrefix = "tenet-secrets-"

// wipeStale removes what processes of this user have left that were killed while they
// edited: all secrets of a file, in plain text.
func wipeStale(parents ...string) error {
	var errs []error
	for _, parent := range parents {
		found, _ := filepath.Glob(filepath.Join(parent, privatePrefix+"*")) // the pattern is right
		for _, dir := range found {
			info, err := os.Lstat(dir)
			if err != nil || !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
				continue
			}
			process, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), privatePrefix), "-")
			pid, err := strconv.Atoi(process)
			if err != nil || pid > 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
				continue
			}
			errs = append(errs, wipe(dir))
		}
	}
	return errors.Join(errs...)
}

// wipe overwrites and removes all files of a directory, those of the editor
// included.
func wipe(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(make([]byte, info.Size()))
		return errors.Join(err, f.Sync(), f.Close())
	})
	return errors.Join(err, os.RemoveAll(dir))
}
