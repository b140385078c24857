package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/inventory"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
)

// inventoryTime is how long the program of an inventory may take.
const inventoryTime = 30 * time.Second

// useInventories lets a site ask the programs of its inventories, in its directory.
func (s *client) useInventories(c *site) {
	dir := c.Origin
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	c.Target.InventoryHidden = s.inventoryHidden
	c.Target.Inventory = func(ctx context.Context, argv []string) (out []byte, err error) {
		s.outsideEvaluation(func() { out, err = s.runInventory(ctx, dir, argv) })
		return out, err
	}
}

// inventoryProgram gives what a program of an inventory prints.
type inventoryProgram = func(ctx context.Context, argv []string) ([]byte, error)

// askedOnce has each program run once: whoever asks again gets the same answer.
func askedOnce(run inventoryProgram) inventoryProgram {
	type answer struct {
		out []byte
		err error
	}
	var mu sync.Mutex
	answers := map[string]answer{}
	return func(ctx context.Context, argv []string) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		key := strings.Join(argv, "\x00")
		a, ok := answers[key]
		if !ok {
			a.out, a.err = run(ctx, argv)
			if ctx.Err() == nil {
				answers[key] = a
			}
		}
		return a.out, a.err
	}
}

// openInventory opens what says which hosts there are: a site or, where it is none, an
// inventory of Ansible.
func (s *client) openInventory(ctx context.Context, path string) (*lang.Site, error) {
	info, err := os.Stat(path)
	if err != nil || isSitePath(path, info) || isPlanFile(path) {
		return s.openSite(ctx, path)
	}
	dir, name := path, "."
	if !info.IsDir() {
		dir, name = filepath.Dir(path), filepath.Base(path)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &status{code: exitSite, err: fmt.Errorf("the inventory cannot be read: %w", err)}
	}
	loaded, _ := lang.LoadInventory(siteFiles(ctx, root), name, lang.Options{Registry: modules.Standard()})
	return loaded, nil
}

// isSitePath tells a site from an inventory.
func isSitePath(path string, info fs.FileInfo) bool {
	return lang.IsSource(path) || info.IsDir() && lang.IsSite(os.DirFS(path))
}

// runInventory gives what the program of an inventory prints. It acts on this machine
// whatever --root says, and with the environment of who calls.
func (s *client) runInventory(ctx context.Context, dir string, argv []string) ([]byte, error) {
	machine, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		return nil, err
	}
	late := fmt.Errorf("it has taken longer than %s", inventoryTime)
	ctx, cancel := context.WithTimeoutCause(ctx, inventoryTime, late)
	defer cancel()
	r, err := machine.Run(ctx, host.Command{Argv: argv, Env: s.Environ, Dir: dir, MaxOutput: inventory.MaxBytes})
	switch {
	case errors.Is(context.Cause(ctx), late):
		return nil, late
	case err != nil:
		return nil, err
	case r.ExitCode != 0:
		return nil, fmt.Errorf("it ended with status %d%s", r.ExitCode, lastLines(r.Stderr))
	case r.Truncated:
		return nil, fmt.Errorf("it printed more than %d MiB", inventory.MaxBytes>>20)
	}
	return r.Stdout, nil
}

// lastLines are the last lines of what a program has said, in one.
func lastLines(said []byte) string {
	lines := strings.Split(strings.ToValidUTF8(string(bytes.TrimSpace(said)), "\ufffd"), "\n")
	if len(lines) > 3 {
		lines = lines[len(lines)-3:]
	}
	text := diag.Clean(strings.Join(lines, " / "), "", ' ')
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[len(text)-500:], "")
	}
	if text == "" {
		return ""
	}
	return ": " + text
}
