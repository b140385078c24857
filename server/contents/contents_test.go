package contents_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/contents/contentstest"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/sqlite"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func folder(t testing.TB, dir string) *contents.Folder {
	t.Helper()
	f, err := contents.OpenFolder(dir)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func database(t testing.TB) (*contents.Database, *store.Store) {
	t.Helper()
	e, err := sqlite.Open(context.Background(), t.TempDir())
	must(t, err)
	s, err := store.New(context.Background(), e, store.Options{Migrations: []store.Migration{contents.Migration()}})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	_, err = s.Campaign(context.Background())
	must(t, err)
	return contents.InDatabase(s), s
}

func TestFolder(t *testing.T) {
	contentstest.Run(t, func(t testing.TB) contents.Store { return folder(t, t.TempDir()) })
}

func TestDatabase(t *testing.T) {
	contentstest.Run(t, func(t testing.TB) contents.Store { c, _ := database(t); return c })
}

// What was damaged since is not handed out as if it were whole.
func TestDamaged(t *testing.T) {
	ctx, content := context.Background(), []byte("some content")
	d, dir := contents.Sum(content), t.TempDir()
	f := folder(t, dir)
	must(t, f.Put(ctx, d, bytes.NewReader(content)))
	must(t, os.WriteFile(filepath.Join(dir, string(d)), []byte("some contend"), 0o600))
	c, s := database(t)
	must(t, c.Put(ctx, d, bytes.NewReader(content)))
	must(t, s.Write(ctx, func(tx store.Tx) error {
		_, err := tx.Exec("UPDATE contents_pieces SET data = $1", []byte("some contend"))
		return err
	}))
	for _, s := range []contents.Store{f, c} {
		r, _, err := s.Open(ctx, d, 0)
		must(t, err)
		if _, err := io.ReadAll(r); !errors.Is(err, contents.ErrOther) {
			t.Errorf("%T: %v", s, err)
		}
		must(t, r.Close())
	}
}

// What was never finished goes, and what may still be goes on.
func TestAbandoned(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	old, recent := filepath.Join(dir, ".tenet-1.tmp"), filepath.Join(dir, ".tenet-2.tmp")
	must(t, errors.Join(os.WriteFile(old, nil, 0o600), os.WriteFile(recent, nil, 0o600)))
	must(t, os.Chtimes(old, time.Time{}, time.Now().Add(-25*time.Hour)))
	folder(t, dir)
	if _, err := os.Stat(old); err == nil {
		t.Error("the old one is left")
	}
	if _, err := os.Stat(recent); err != nil {
		t.Error(err)
	}
	c, s := database(t)
	must(t, s.Write(ctx, func(tx store.Tx) error {
		var all error
		for name, at := range map[string]time.Time{"old": time.Now().Add(-25 * time.Hour), "recent": time.Now()} {
			_, err := tx.Exec("INSERT INTO contents_uploads VALUES ($1, $2)", name, at)
			_, err2 := tx.Exec("INSERT INTO contents_pieces VALUES ($1, 0, $2)", name, []byte{1})
			all = errors.Join(all, err, err2)
		}
		return all
	}))
	must(t, c.Put(ctx, contents.Sum(nil), bytes.NewReader(nil)))
	var uploads, pieces string
	must(t, s.Read(ctx, func(r store.Reader) error {
		_, err := store.One(r, "SELECT upload FROM contents_uploads", nil, &uploads)
		_, err2 := store.One(r, "SELECT upload FROM contents_pieces", nil, &pieces)
		return errors.Join(err, err2)
	}))
	if uploads != "recent" || pieces != "recent" {
		t.Errorf("there is %s, with pieces of %s", uploads, pieces)
	}
}

// A link in the folder leads nowhere else.
func TestLink(t *testing.T) {
	ctx, dir, content := context.Background(), t.TempDir(), []byte("x")
	d, victim := contents.Sum(content), filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("theirs"), 0o600))
	must(t, os.Symlink(victim, filepath.Join(dir, string(d))))
	f := folder(t, dir)
	if _, _, err := f.Open(ctx, d, 0); err == nil {
		t.Error("it was followed")
	}
	must(t, f.Put(ctx, d, bytes.NewReader(content)))
	if got, err := os.ReadFile(victim); err != nil || string(got) != "theirs" {
		t.Error(string(got), err)
	}
	r, _, err := f.Open(ctx, d, 0)
	must(t, err)
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != "x" {
		t.Error(string(got), err)
	}
}
