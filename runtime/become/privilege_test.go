package become

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/privilege"
	"github.com/tenetcm/tenet/runtime/privilege/privilegetest"
)

// The dialogue with sudo and doas of who acts as another account on this machine.
func TestPrivilege(t *testing.T) {
	t.Parallel()
	h, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	me, err := h.UserID(os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	me.Name = "deploy"
	privilegetest.Run(t, me.Name, func(t *testing.T, a privilegetest.Attempt) privilegetest.Outcome {
		path := filepath.Join(t.TempDir(), a.Program)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+a.Script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		o := Options{Host: h, Program: os.Args[0], Args: []string{asServer}, Password: a.Password}
		p, m, err := startProcess(t.Context(), h, func(terminal bool) (*launch, error) {
			program, _ := privilege.Find(a.Program)
			r := privilege.Request{Program: program, Login: me.Name, User: "root", Password: a.Password != "", Terminal: terminal, Mark: "<tenet " + nonce() + ">"}
			return o.byProgram(path, r, me, host.User{Name: "root"})
		})
		if e, refused := errors.AsType[*privilege.Refusal](err); refused {
			return privilegetest.Outcome{Message: e.Message, Hint: e.Hint}
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Lstat("/"); err != nil {
			t.Error(err)
		}
		m.disconnect(errors.New("the test has ended"))
		if err := p.close(); err != nil {
			t.Error(err)
		}
		return privilegetest.Outcome{Started: true}
	})
}
