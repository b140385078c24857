package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/tenetcm/tenet/internal/child"
	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
)

// HeadKeeper takes a head, as a line of JSON, to where who can change the server's database cannot
// change it.
type HeadKeeper func(ctx context.Context, line []byte) error

// KeepHead gives the head of the audit to a keeper, if it is another than the last one that was
// kept, and returns it. The server calls it hourly; what was kept is for Verify.
func KeepHead(ctx context.Context, s *store.Store, last Head, keep HeadKeeper) (Head, error) {
	head, err := ReadHead(ctx, s)
	if err != nil || head == last || head.N == 0 {
		return last, err
	}
	line, err := plainjson.Marshal(head)
	if err != nil {
		return last, err
	}
	if err := keep(ctx, append(line, '\n')); err != nil {
		return last, &diag.HintError{Code: CodeUnavailable, Message: fmt.Sprintf("the head of the audit was not kept: %v", err), Err: err,
			Hint: "it is tried again; until then the last one that was kept shows changes before it only"}
	}
	return head, nil
}

// FileKeeper appends to a file, such as one on another machine's disk, or one that can only be appended to (chattr +a).
func FileKeeper(name string) HeadKeeper {
	return func(_ context.Context, line []byte) error {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(line)
		if err == nil {
			err = f.Sync()
			if info, statErr := f.Stat(); statErr == nil && !info.Mode().IsRegular() {
				err = nil // a pipe cannot be synced
			}
		}
		return errors.Join(err, f.Close())
	}
}

// ProgramKeeper starts a program, which gets the line as its standard input, and has a minute.
func ProgramKeeper(argv ...string) HeadKeeper {
	return func(ctx context.Context, line []byte) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(line), io.Discard, io.Discard
		child.EndTogether(cmd, time.Second)
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", argv[0], err)
		}
		return nil
	}
}
