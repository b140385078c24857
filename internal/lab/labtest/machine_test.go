//go:build lab

package labtest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/internal/lab"
	"github.com/tenetcm/tenet/modules"
	contract "github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/machine/machinetest"
	"github.com/tenetcm/tenet/runtime/remote"
	openssh "github.com/tenetcm/tenet/runtime/ssh"
	"github.com/tenetcm/tenet/runtime/wire"
)

// A machine that is reached by OpenSSH is one like any other.
func TestSSHMachine(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "sshmachine")
	h := f.hosts[0]
	client := &openssh.Client{
		Program: f.sshProgram(),
		Runners: &openssh.Runners{Dirs: []string{shared.runners}, Self: tenetPath()},
	}
	to := openssh.Host{Name: h.Name, Address: h.Name, User: "root"}
	var number atomic.Int64
	machinetest.Run(t, func(t *testing.T) machinetest.Subject {
		dir := fmt.Sprintf("/srv/machine%d", number.Add(1))
		f.on(h, "mkdir -p "+dir+"/files")
		another := func() contract.Machine {
			return &remote.Machine{
				Name: h.Name, Registry: modules.Standard(), Caller: contract.Caller{User: "root", From: "lab"},
				Dial: func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
					o.StateDir = dir + "/state"
					return client.Dial(ctx, to, o)
				},
			}
		}
		return machinetest.Subject{
			Machine: another(), Another: another, Dir: dir + "/files", Files: hostFiles{t, h}, Outlives: true,
		}
	})
}

// sshProgram writes a program that is ssh as the controller starts it.
func (f *fleet) sshProgram() string {
	f.Helper()
	var words []string
	for _, word := range f.c.Argv("ssh") {
		words = append(words, openssh.Quote(word))
	}
	name := filepath.Join(f.c.Home(), "ssh-as-controller")
	if err := os.WriteFile(name, []byte("#!/bin/sh\nexec "+strings.Join(words, " ")+" \"$@\"\n"), 0o700); err != nil {
		f.Fatal(err)
	}
	return name
}

// hostFiles are the files of a host.
type hostFiles struct {
	*testing.T
	host *lab.Host
}

// Read implements machinetest.Files.
func (f hostFiles) Read(name string) ([]byte, error) {
	r, err := f.host.Exec(context.WithoutCancel(f.Context()), "cat", name)
	switch {
	case err != nil:
		return nil, err
	case bytes.Contains(r.Stderr, []byte("No such file")):
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	case r.ExitCode != 0:
		return nil, fmt.Errorf("cat %s: %s", name, r.Stderr)
	}
	return r.Stdout, nil
}

// Write implements machinetest.Files.
func (f hostFiles) Write(name string, data []byte) error {
	return f.host.Copy(context.WithoutCancel(f.Context()), fstest.MapFS{path.Base(name): {Data: data, Mode: 0o600}}, path.Dir(name))
}
