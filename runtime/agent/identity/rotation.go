package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"filippo.io/age"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
)

const (
	// rotationName is a file by which somebody who may write to the folder asks the process that has it for other keys.
	rotationName = "rotation.json"
	maxRotation  = 4 << 10
)

// rotation is that file. It names what the keys are to be at least, so that it can be heeded twice and counts once.
type rotation struct {
	Number uint64 `json:"number"`
}

// Rotate makes another connection key and another sealing key, unless some are about to follow already, and tells the server of them.
func (i *Identity) Rotate(ctx context.Context) error {
	if !i.IsReplacing() {
		if err := i.ReplaceKeys(false); err != nil {
			return err
		}
	}
	_, err := i.Renew(ctx)
	if err == nil && i.IsReplacing() {
		state, reason := i.State()
		err = &diag.HintError{Code: "state", Message: fmt.Sprintf("the server has not taken the keys, since this host is %s: %s", state, reason), Hint: "look at the host there: tenet host show NAME"}
	}
	return err
}

// IsReplacing tells whether the server is yet to answer to other keys.
func (i *Identity) IsReplacing() bool {
	return locked(i, func() bool { return i.kept.Following != nil })
}

// RequestRotation asks the process that has a folder for keys that follow those of a number. It does not wait for them.
func RequestRotation(dir string, number uint64) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	data, err := plainjson.Marshal(rotation{Number: number + 1})
	if err != nil {
		return err
	}
	return atomicfile.ReplaceIn(root, rotationName, atomicfile.Options{Mode: 0o600, Durable: true}, atomicfile.Data(data))
}

// IsRotationRequested tells whether RequestRotation has asked for something that TakeRotation has not heeded yet.
func (i *Identity) IsRotationRequested() bool {
	_, err := i.folder.root.Lstat(rotationName)
	return err == nil
}

// TakeRotation makes other keys where RequestRotation has asked for them, and tells whether it has. The next renewal tells the server of them.
// A request that cannot be heeded is removed, too: whoever has made it may make another.
func (i *Identity) TakeRotation() (bool, error) {
	file, err := i.folder.root.Open(rotationName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxRotation))
	var wanted rotation
	if err = errors.Join(err, file.Close()); err == nil {
		err = json.Unmarshal(data, &wanted)
	}
	isNew := err == nil && !i.IsReplacing() && i.Keys().Number < wanted.Number
	if isNew {
		err = i.ReplaceKeys(false)
	}
	if err != nil {
		err = fmt.Errorf("the request for other keys of this host: %w", err)
	}
	return isNew && err == nil, errors.Join(err, i.folder.root.Remove(rotationName))
}

// ForgetFormer forgets former sealing keys to which nothing is encrypted any more: all but those whose public halves are needed.
func (i *Identity) ForgetFormer(needed []string) error {
	i.renewal.Lock()
	defer i.renewal.Unlock()
	i.mu.Lock()
	defer i.mu.Unlock()
	next := i.kept
	next.Former = nil
	for _, text := range i.kept.Former {
		key, err := age.ParseX25519Identity(text)
		if err != nil {
			return errors.New("the keys of this host are damaged") // err may quote the key
		}
		if slices.Contains(needed, key.Recipient().String()) {
			next.Former = append(next.Former, text)
		}
	}
	if len(next.Former) == len(i.kept.Former) {
		return nil
	}
	return i.save(next)
}
