package demo

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/runtime/agent/daemon"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/server/api/client"
)

// Machines on which a person is to decide, besides those of the demo.
const (
	newcomer = "kiosk2"
	cloned   = "kiosk1"
)

// addQuestions has machines ask that a person is to decide on: one is new, one has the name of another one, and one is there twice.
func (d *Demo) addQuestions(ctx context.Context) error {
	open, err := d.as(operator).AddToken(ctx, client.TokenRequest{Note: "kiosks of the new branch", Uses: 5, Seconds: 7 * 24 * 3600, Labels: map[string]string{"role": "*", "zone": "*"}, Reason: "the new branch opens in June"})
	if err != nil {
		return err
	}
	lost, err := d.as(operator).AddToken(ctx, client.TokenRequest{Note: "kiosks, first try", Uses: 5, Reason: "the new branch opens in June"})
	if err == nil {
		err = d.as(operator).RevokeToken(ctx, lost.ID, "it was sent by mail")
	}
	if err != nil {
		return err
	}
	return together(
		func() error {
			return d.ask(ctx, newcomer, open.Secret, map[string]string{"role": "kiosk", "zone": "ber1"})
		},
		func() error {
			return d.ask(ctx, d.machines[0].name, open.Secret, map[string]string{"role": "web", "zone": "ber1"})
		},
		func() error { return d.clone(ctx) },
	)
}

// ask has a machine ask, and leaves it waiting.
func (d *Demo) ask(ctx context.Context, name, token string, labels map[string]string) error {
	i, err := join(ctx, filepath.Join(d.Dir, "asking", name), token, identity.Joining{Name: name, Labels: labels, Once: true})
	if err != nil {
		return err
	}
	return i.Close()
}

// clone has a machine join, and a copy of its disk come to the server as well.
func (d *Demo) clone(ctx context.Context) error {
	t, err := d.as(operator).AddToken(ctx, client.TokenRequest{Note: "made with the machine", Auto: true, Names: cloned, Labels: map[string]string{"role": "kiosk"}, Reason: "the machine was set up"})
	if err != nil {
		return err
	}
	state := filepath.Join(d.Dir, "asking", cloned)
	i, err := join(ctx, state, t.Secret, identity.Joining{Name: cloned, Labels: map[string]string{"role": "kiosk"}})
	if err == nil {
		err = i.Close()
	}
	if err != nil {
		return err
	}
	if err := renew(ctx, state); err != nil {
		return err
	}
	disk := state + "-copy"
	if err := copyFolder(state, disk); err != nil {
		return err
	}
	for _, one := range []string{state, disk} { // the second one does not know what the first one has told
		if err := renew(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// renew shows the server once which machine it is.
func renew(ctx context.Context, state string) error {
	i, err := daemon.Load(state)
	if err != nil {
		return err
	}
	defer i.Close()
	_, err = i.Renew(ctx)
	return err
}

// copyFolder copies a folder into which nobody else may look.
func copyFolder(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(name, 0o700)
		}
		return err
	})
}
