package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// An index that an older version has written has no digests. What it says is believed as
// far as something else bears it out: the run, and the copy of a file, which is named by
// its content. That nothing was at a path is not believed, since they wrote no word for it.

// readOlder reads a line without a digest.
func (b *Backup) readOlder(line []byte) (Former, error) {
	var x exactFormer
	in := json.NewDecoder(bytes.NewReader(line))
	in.DisallowUnknownFields() // as the digest of a line in which a byte of its name is wrong
	err := in.Decode(&x)
	if err == nil && string(line[in.InputOffset():]) != "\n" {
		err = errors.New("there is more behind it")
	}
	if err != nil {
		return Former{}, fmt.Errorf("it has no digest, and is damaged: %w", err)
	}
	f := x.plain()
	f.Older = true
	if f.Kind == "" {
		return Former{}, fmt.Errorf("an older version has written it, which had no word for nothing, so that it cannot be told from a damaged one: if there was nothing at %s, remove what is there now", f.Path)
	}
	if err := f.check(); err != nil {
		return Former{}, err
	}
	run, err := b.stateRun()
	if err != nil {
		return Former{}, fmt.Errorf("it has no digest, and there is nothing to compare it with: %w", err)
	}
	if !isChangedIn(run, f.Block, f.Part) {
		return Former{}, fmt.Errorf("it has no digest, and names %s in %s, of which the run knows nothing", f.Part, f.Block)
	}
	if f.Kind == host.Regular {
		err = b.checkCopy(f)
	}
	return f, err
}

// isChangedIn reports whether a block of a run is to be confirmed and holds a part, or a
// handler that does.
func isChangedIn(run *states.StateRun, block, part string) bool {
	part = states.WithoutWave(part)
	within := map[string]bool{}
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			if slices.ContainsFunc(list[i].Parts, func(p states.Part) bool { return states.WithoutWave(p.Address) == part }) {
				within[states.WithoutWave(list[i].Address)] = true
			}
		}
	}
	for range run.Blocks { // as deep as they may hold one another
		for i := range run.Blocks {
			b := &run.Blocks[i]
			members := slices.Concat(b.Members, b.Rescue, b.Always)
			if slices.ContainsFunc(members, func(a string) bool { return within[states.WithoutWave(a)] }) {
				within[b.Address] = true
			}
		}
	}
	isBlock := func(b states.Block) bool { return b.Address == block && b.Confirm != nil }
	return within[block] && slices.ContainsFunc(run.Blocks, isBlock)
}

// checkCopy gives an error if the copy of a file is not what it is named by.
func (b *Backup) checkCopy(f Former) error {
	in, err := b.disk.read(filepath.Join(b.dir, f.Sum))
	if err != nil {
		return err
	}
	digest := sha256.New()
	size, err := io.Copy(digest, in)
	if err = Join(err, in.Close()); err != nil {
		return err
	}
	if size != f.Size || hex.EncodeToString(digest.Sum(nil)) != f.Sum {
		return fmt.Errorf("it has no digest, and the copy of %s is not what it names", f.Path)
	}
	return nil
}

// refuseRepeated takes out lines without a digest that say how the same path was as
// another does: each is written once, so that one of them is about another path.
func (b *Backup) refuseRepeated(name string) {
	lines := map[[2]string]int{}
	for _, f := range b.list {
		lines[[2]string{f.Block, f.Path}]++
	}
	b.list = slices.DeleteFunc(b.list, func(f Former) bool {
		repeated := f.Older && lines[[2]string{f.Block, f.Path}] > 1
		if repeated {
			b.wrong = Join(b.wrong, fmt.Errorf("a line of %s is not acted upon: it has no digest, and another is about %s too", name, f.Path))
		}
		return repeated
	})
}
