package systemdunit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/runtime/host"
)

// verify lets systemd-analyze look at the text in a directory of its own, under the
// unit's name. Where there is none, or it cannot be started, nothing is said.
func verify(ctx context.Context, h host.Host, want Unit) error {
	if want.User != nil || want.DropIn != nil {
		return nil
	}
	dir := path.Join("/run", host.TempName(h))
	err := h.Mkdir(dir, host.Meta{Mode: new(fs.FileMode(0o700))})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // a tree without /run, or a user who is told so by the act itself
	}
	if err != nil {
		return err
	}
	file := path.Join(dir, want.Name)
	var said string
	if err = h.WriteFile(ctx, file, *want.Content, host.Meta{Mode: new(fs.FileMode(0o600))}); err == nil {
		var r host.Result
		r, err = h.Query(ctx, host.Query{
			Command: host.Command{Argv: []string{"systemd-analyze", "verify", "--man=no", file}, Env: []string{"SYSTEMD_LOG_COLOR=0", "LC_ALL=C.UTF-8"}},
			Reads:   []string{dir},
		})
		said = complaints(string(r.Stderr), dir, want.Name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			err, said = nil, ""
		}
		err = errors.Join(err, h.Remove(file))
	}
	if err = errors.Join(err, h.Remove(dir)); err != nil {
		return err
	}
	return refusal(said)
}

// checkKnown is an error where this systemd would pass over lines of the text.
func checkKnown(ctx context.Context, h host.Host, want Unit) error {
	text, _ := want.Content.Inline()
	wrong, err := systemd.Unknown(ctx, h, path.Base(want.file()), text)
	if err != nil {
		return err
	}
	return refusal(process.Tail([]byte(strings.Join(wrong, "\n")), 10))
}

// refusal is the error of what is said against a unit; nil: nothing is.
func refusal(said string) error {
	if said == "" {
		return nil
	}
	return &diag.HintError{
		Err:  fmt.Errorf("systemd does not accept the unit:\n%s", said),
		Hint: "correct these lines; verify = false puts the unit in place nevertheless",
	}
}

// complaints gives what is said of the unit itself, and not of others that it
// needs. A program that is not there may come later.
func complaints(output, dir, unit string) string {
	var kept []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, dir+"/"+unit+":"):
			line = strings.TrimPrefix(line, dir+"/")
		case strings.HasPrefix(line, unit+": "), strings.HasPrefix(line, "Unit "+unit+" "):
		default:
			continue
		}
		if !strings.Contains(line, " is not executable: ") {
			kept = append(kept, line)
		}
	}
	return process.Tail([]byte(strings.Join(kept, "\n")), 10)
}
