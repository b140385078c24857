// Package privilegetest is the suite that is passed by whoever acts as another account by
// package privilege: with programs that ask, refuse and lie as sudo and doas do.
package privilegetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Password is the one that the programs take.
const Password = "geheim 7b"

// Attempt is to act as root.
type Attempt struct {
	Program  string // "sudo" or "doas"
	Script   string // what that program is: for /bin/sh, behind the line that names it
	Password string // what is given when it asks; empty: there is none
}

// Outcome is what came of it.
type Outcome struct {
	Started       bool
	Message, Hint string // where it was refused
}

// Run tries it in all ways. Login is the account that asks, as messages name it.
func Run(t *testing.T, login string, try func(t *testing.T, a Attempt) Outcome) {
	for _, c := range cases() {
		t.Run(c.program+" "+c.name, func(t *testing.T) {
			dir := t.TempDir()
			prelude := map[string]string{"sudo": sudo, "doas": doas}[c.program]
			out := try(t, Attempt{c.program, "log='" + dir + "'\n" + prelude + c.script, c.password})
			message, hint := strings.ReplaceAll(c.message, "LOGIN", login), strings.ReplaceAll(c.hint, "LOGIN", login)
			if out.Started != (message == "") || !strings.Contains(out.Message, message) || !strings.Contains(out.Hint, hint) {
				t.Errorf("%+v, want %q (%s)", out, message, hint)
			}
			if c.message != "" && out.Hint == "" {
				t.Error("nothing that helps")
			}
			want := ""
			if c.given {
				want = c.password + "\n"
			}
			if given := read(t, dir, "given"); given != want {
				t.Errorf("it was given %q, want %q", given, want)
			}
			if all := read(t, dir, "called") + out.Message + out.Hint; c.password != "" && strings.Contains(all, c.password) {
				t.Errorf("the password is in %q", all)
			}
			if read(t, dir, "called") == "" {
				t.Error("it was not called")
			}
		})
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}
