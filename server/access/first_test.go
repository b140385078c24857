package access_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/server/access"
)

// passwordIn reads the file that has a first, or another, password.
func passwordIn(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	info, err := os.Stat(file)
	must(t, err)
	secret := strings.TrimSuffix(string(text), "\n")
	if info.Mode().Perm() != 0o600 || len(secret) < 20 || strings.ContainsAny(secret, " \n") {
		t.Fatal(info.Mode(), len(secret))
	}
	return secret
}

func TestFirst(t *testing.T) {
	ctx, file := context.Background(), filepath.Join(t.TempDir(), "login")
	d := access.NewDirectory(open(t), access.Options{Cost: cheap()})
	// One that was left by a start that was killed.
	must(t, os.WriteFile(file, []byte("old"), 0o644))
	made, err := d.MakeFirst(ctx, file)
	if err != nil || !made {
		t.Fatal(made, err)
	}
	secret := passwordIn(t, file)
	l, err := d.LogIn(ctx, access.FirstPerson, secret, "x")
	must(t, err)
	if c, err := d.Authenticate(ctx, l.Secret); err != nil || c.DemandEverywhere(access.Admin) != nil {
		t.Error(c, err)
	}
	made, err = d.MakeFirst(ctx, file)
	if err != nil || made || passwordIn(t, file) != secret {
		t.Error(made, err)
	}
	if _, err := d.MakeFirst(ctx, "/nowhere/at/all"); err != nil {
		t.Error(err)
	}
	empty := access.NewDirectory(open(t), access.Options{Cost: cheap()})
	if _, err := empty.MakeFirst(ctx, "/nowhere/at/all"); err == nil {
		t.Error("a person was made whose password nobody knows")
	}
	if list, err := empty.People(ctx, "", 10); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

func TestResetPassword(t *testing.T) {
	ctx, w, file := context.Background(), people(t), filepath.Join(t.TempDir(), "login")
	l, _ := w.login("alice")
	must(t, w.ResetPassword(ctx, "alice", file, "forgotten"))
	_, err := w.Authenticate(ctx, l.Secret)
	wantCode(t, err, access.CodeUnknown)
	_, err = w.LogIn(ctx, "alice", password, "x")
	wantCode(t, err, access.CodeUnknown)
	_, err = w.LogIn(ctx, "alice", passwordIn(t, file), "x")
	must(t, err)
	wantCode(t, w.ResetPassword(ctx, "nobody", file, ""), access.CodeNotFound)
	if err := w.ResetPassword(ctx, "alice", "/nowhere/at/all", ""); err == nil {
		t.Error("a password was set that nobody knows")
	}
}
