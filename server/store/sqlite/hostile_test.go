package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
	own "github.com/tenetcm/tenet/server/store/sqlite"
	"github.com/tenetcm/tenet/server/store/storetest"
)

// Nobody else reads it, whatever the umask and whoever made the folder.
func TestModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o777))
	p := placeAt(dir)
	s := storetest.Active(t, p, store.Options{})
	must(t, s.Write(context.Background(), func(tx store.Tx) error { _, err := tx.Exec("INSERT INTO numbers VALUES ('a', 1)"); return err }))
	files := 0
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		info, _ := d.Info()
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
		files++
		return err
	}))
	if files != 6 {
		t.Errorf("there are %d files", files)
	}
}

// Two names of a folder are one store; in the folder, nothing leads elsewhere.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	real, link, victim := filepath.Join(dir, "real"), filepath.Join(dir, "link"), filepath.Join(dir, "victim")
	must(t, os.Mkdir(real, 0o700))
	must(t, os.Symlink("real", link))
	storetest.Active(t, placeAt(link), store.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := storetest.Open(t, placeAt(real), store.Options{}).Campaign(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("both are active: %v", err)
	}
	for _, name := range []string{"tenet.db", "lock"} {
		sub := filepath.Join(dir, "sub-"+name)
		must(t, os.Mkdir(sub, 0o700))
		must(t, os.Symlink(victim, filepath.Join(sub, name)))
		_, err := own.Open(context.Background(), sub)
		wantHint(t, err, "is a symbolic link", "nothing in it")
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("a file was made elsewhere")
	}
}

func TestRefusedFolders(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o644))
	must(t, os.Chmod(dir, 0o755))
	_, err := own.Open(ctx, dir)
	wantHint(t, err, `it holds "thesis.txt"`, "give an empty folder")
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o755 {
		t.Error("its mode was changed")
	}
	_, err = own.Open(ctx, filepath.Join(dir, "thesis.txt"))
	wantHint(t, err, "not a directory", "give a folder")
	_, err = own.Open(ctx, "/proc/none")
	wantHint(t, err, "/proc/none", "that this account may write")
	_, err = own.Open(ctx, "")
	wantHint(t, err, "is no path", "give the folder")
}

const asNobody = "TENET_TEST_READ_ONLY"

// A folder that may not be written is refused, and left. As root, who may write anywhere, the
// test goes on as another account.
func TestReadOnlyFolder(t *testing.T) {
	if dir := os.Getenv(asNobody); dir != "" {
		_, err := own.Open(context.Background(), dir)
		wantHint(t, err, "permission denied", "this account")
		return
	}
	dir, err := os.MkdirTemp("", "") // as deep as others may go
	must(t, err)
	defer os.RemoveAll(dir)
	inner := filepath.Join(dir, "store")
	must(t, errors.Join(os.Mkdir(inner, 0o500), os.Chmod(dir, 0o755)))
	c := exec.Command("/proc/self/exe", "-test.run=^TestReadOnlyFolder$", "-test.v")
	c.Env = append(os.Environ(), asNobody+"="+inner)
	c.Dir = "/"
	if os.Geteuid() == 0 {
		must(t, os.Chown(inner, 65534, 65534))
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestReadOnlyFolder") {
		t.Errorf("%v\n%s", err, out)
	}
}

// What is damaged is not worked with.
func TestDamaged(t *testing.T) {
	ctx := context.Background()
	for name, harm := range map[string]func(*testing.T, string){
		"no database": func(t *testing.T, name string) { must(t, os.WriteFile(name, []byte(strings.Repeat("x", 8192)), 0o600)) },
		"cut off":     func(t *testing.T, name string) { must(t, os.Truncate(name, 12288)) },
		"a page": func(t *testing.T, name string) {
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			must(t, err)
			info, err := f.Stat()
			must(t, err)
			for at := int64(4096 * 4); at < info.Size(); at += 4096 {
				_, err = f.WriteAt(make([]byte, 2000), at)
				must(t, err)
			}
			must(t, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := placeAt(filepath.Join(t.TempDir(), "store"))
			s := storetest.Active(t, p, store.Options{})
			must(t, s.Write(ctx, func(tx store.Tx) error {
				for i := range 2000 {
					if _, err := tx.Exec("INSERT INTO numbers VALUES ($1, 1)", fmt.Sprintf("some name %d", i)); err != nil {
						return err
					}
				}
				return nil
			}))
			must(t, s.Close())
			must(t, os.WriteFile(filepath.Join(p.Name, "running"), nil, 0o600)) // as after a crash
			harm(t, filepath.Join(p.Name, "tenet.db"))
			_, err := own.Open(ctx, p.Name)
			wantHint(t, err, "tenet.db is damaged", "restore the last backup")
		})
	}
}

// A disk that is full fails the write that it is too small for, and no other one.
func TestFull(t *testing.T) {
	ctx := context.Background()
	p := placeAt(filepath.Join(t.TempDir(), "store"))
	pages := 0
	p.Open = func(ctx context.Context) (store.Engine, error) {
		e, err := own.Open(ctx, p.Name)
		if err == nil && pages > 0 {
			err = own.LimitPages(e, pages)
		}
		return e, err
	}
	must(t, storetest.Open(t, p, store.Options{}).Close())
	pages = 40
	s := storetest.Active(t, p, store.Options{})
	write := func(name string, size int) error {
		return s.Write(ctx, func(tx store.Tx) error {
			_, err := tx.Exec("INSERT INTO kinds (id, t, b) VALUES ((SELECT COUNT(*) FROM kinds), $1, $2)", name, make([]byte, size))
			return err
		})
	}
	for range 3 {
		must(t, write("small", 10))
		wantHint(t, write("large", 1<<20), "the disk is full", "make room")
	}
	free, held, first := make(chan struct{}), make(chan struct{}), true
	errs := make(chan error, 9)
	go func() {
		errs <- s.Write(ctx, func(store.Tx) error {
			if first {
				first = false
				close(held)
				<-free
			}
			return nil
		})
	}()
	<-held
	for i := range 8 {
		go func() { errs <- write("shared", (i%2)<<20) }()
	}
	close(free)
	full := 0
	for range 9 {
		if err := <-errs; err != nil {
			wantHint(t, err, "the disk is full", "make room")
			full++
		}
	}
	var n int
	must(t, s.Read(ctx, func(r store.Reader) error {
		_, err := store.One(r, "SELECT COUNT(*) FROM kinds", nil, &n)
		return err
	}))
	if full != 4 || n != 3+4 {
		t.Errorf("%d writes failed, and %d rows are there", full, n)
	}
}

// A version whose log may lose what was written (before 3.51.3), or another mode than promised,
// is not worked with.
func TestDurability(t *testing.T) {
	p := placeAt(filepath.Join(t.TempDir(), "store"))
	e, err := own.Open(context.Background(), p.Name)
	must(t, err)
	defer e.Close()
	for pragma, wanted := range map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1"} {
		if got := own.Pragma(e, pragma); got != wanted {
			t.Errorf("%s is %s", pragma, got)
		}
	}
	if sqlite.VersionNumber < 3_051_003 {
		t.Errorf("this is SQLite %s", sqlite.Version)
	}
}

// Another program that holds the database fails writes after a while, and the reason is told.
func TestHeld(t *testing.T) {
	ctx := context.Background()
	p := placeAt(filepath.Join(t.TempDir(), "store"))
	s := storetest.Active(t, p, store.Options{Limit: 300e6})
	c, err := sqlite.OpenConn(filepath.Join(p.Name, "tenet.db"), sqlite.OpenReadWrite)
	must(t, err)
	must(t, sqlitex.ExecuteTransient(c, "BEGIN IMMEDIATE", nil))
	write := func() error {
		return s.Write(ctx, func(tx store.Tx) error { _, err := tx.Exec("INSERT INTO numbers VALUES ('a', 1)"); return err })
	}
	wantHint(t, write(), "another program holds the database", "end it")
	must(t, c.Close())
	must(t, write())
}

func wantHint(t testing.TB, err error, says, advice string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(diag.HintOf(err), advice) {
		t.Errorf("got: %v\nhint: %s", err, diag.HintOf(err))
	}
}
