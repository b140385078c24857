package moduletest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/swap"
	"github.com/tenetcm/tenet/runtime/host"
)

// swappingFolder is a host on which somebody puts a link in the place of a folder as soon as it
// swapFileHas been opened. Programs do nothing but be noted.
type swappingFolder struct {
	host.Host
	t         *testing.T
	dir, link string
	ran       []string
}

func (s *swappingFolder) OpenDir(path string) (host.Dir, error) {
	d, err := s.Host.OpenDir(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Rename(s.dir, s.dir+".moved"), os.Symlink(s.link, s.dir)); err != nil {
		s.t.Fatal(err)
	}
	return &ownersDir{d}, nil
}

// SetMeta leaves the owner, as ownersDir does.
func (s *swappingFolder) SetMeta(path string, m host.Meta) error {
	return s.Host.SetMeta(path, host.Meta{Mode: m.Mode})
}

// ownersDir leaves the owner, since tests do not run as root.
type ownersDir struct{ host.Dir }

func (d *ownersDir) SetMeta(name string, m host.Meta) error {
	return d.Dir.SetMeta(name, host.Meta{Mode: m.Mode})
}

func (d *ownersDir) WriteFile(ctx context.Context, name string, c host.Content, m host.Meta, fresh bool) error {
	return d.Dir.WriteFile(ctx, name, c, host.Meta{Mode: m.Mode}, fresh)
}

func (s *swappingFolder) Run(_ context.Context, c host.Command) (host.Result, error) {
	s.ran = append(s.ran, c.Argv[0])
	return host.Result{}, nil
}

func write(t *testing.T, h host.Host, values map[string]any) error {
	t.Helper()
	want, err := swap.Module.Decode(values, nil)
	if err != nil {
		t.Fatal(err)
	}
	return swap.Module.Write(t.Context(), h, nil, swap.Module.Fill(nil, want))
}

// Whatever takes the place of the folder meanwhile, the file is made and given its owner and
// mode in the one that was there, and nothing elsewhere is touched.
func TestSwappedFolder(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"new": "", "resized": swapArea(2), "blank": strings.Repeat("\x00", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range []string{"/etc", "/srv/app", "/outside"} {
				if err := os.MkdirAll(root+dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(root+"/outside/swap", []byte("root's"), 0o644); err != nil {
				t.Fatal(err)
			}
			if before != "" {
				if err := os.WriteFile(root+"/srv/app/swap", []byte(before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l, err := host.NewLocal(host.LocalOptions{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			h := &swappingFolder{Host: l, t: t, dir: root + "/srv/app", link: "/outside"}
			if err := write(t, h, swapValues("/srv/app/swap", "size", "1M", "active", false, "boot", false)); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(root + "/outside/swap"); err != nil || string(text) != "root's" {
				t.Errorf("outside is %.20q, %v", text, err)
			}
			if info, err := os.Stat(root + "/outside/swap"); err != nil || info.Mode() != 0o644 {
				t.Errorf("outside is %v, %v", info, err)
			}
			info, err := os.Stat(filepath.Join(root, "/srv/app.moved/swap"))
			if err != nil || info.Size() != 1<<20 || info.Mode() != 0o600 {
				t.Errorf("the file is %v, %v", info, err)
			}
			if !slices.Equal(h.ran, []string{"mkswap"}) {
				t.Errorf("programs: %v", h.ran)
			}
		})
	}
}

// Who could read a file has it open, maybe: what gets into memory later is in another one.
func TestSwapExposedFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	name := root + "/swap"
	if err := errors.Join(os.Mkdir(root+"/etc", 0o755), os.WriteFile(name, []byte(swapArea(1)), 0o644)); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	h := &swappingFolder{Host: l, t: t, dir: root + "/none", link: "/none"}
	if err := os.Mkdir(h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := write(t, h, swapValues("/swap", "active", false, "boot", false)); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(name)
	if err != nil || os.SameFile(before, after) || after.Size() != 1<<20 || after.Mode() != 0o600 {
		t.Errorf("the file is %v, %v", after, err)
	}
	if !slices.Equal(h.ran, []string{"mkswap"}) {
		t.Errorf("programs: %v", h.ran)
	}
}

// fullDisk has no room for any file.
type fullDisk struct{ host.Host }

type fullDir struct{ host.Dir }

func (h fullDisk) OpenDir(path string) (host.Dir, error) {
	d, err := h.Host.OpenDir(path)
	return fullDir{d}, err
}

func (fullDir) WriteFile(context.Context, string, host.Content, host.Meta, bool) error {
	return syscall.ENOSPC
}

func TestSwapFullDisk(t *testing.T) {
	t.Parallel()
	h := newSwapHost(t)
	err := write(t, fullDisk{h}, swapValues("/var/swap", "size", "1M"))
	if !errors.Is(err, syscall.ENOSPC) || fake.Text(h, "/etc/fstab") != swapTable || fake.Exists(h, "/var/swap") {
		t.Errorf("%v; the table is %q", err, fake.Text(h, "/etc/fstab"))
	}
}
