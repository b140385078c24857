package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// maxRounds is how often a machine may ask for what it lacks: for what it was thought
// to have, and for what is in a directory whose list it was thought to have.
const maxRounds = 3

// grace is how long the reason may take to come why a machine reads no more.
const grace = 5 * time.Second

// Send sends a bundle, and what the machine then says that it lacks. Have is that of
// the machine's Hello. The registry tells which values name files. A machine that
// refuses it says why: then the error is a *wire.FailedError. The connection must not
// be received from meanwhile. What is wrong with the bundle itself is a *machine.JobError.
func (b *Bundle) Send(c *wire.Conn, have []byte, registry *states.Registry) error {
	h, err := b.header(registry)
	if err != nil {
		return &machine.JobError{Err: err}
	}
	data, err := json.Marshal(h)
	if err != nil {
		return &machine.JobError{Err: err}
	}
	if len(data) > maxHeader {
		return &machine.JobError{Err: fmt.Errorf("what is to be done takes %d MiB to say, and %d are allowed", len(data)>>20, maxHeader>>20)}
	}
	wanted := make(map[digest]bool)
	err = b.talk(c, func() error { return b.sendFirst(c, h, data, prefixes(have)) }, wanted)
	for round := 0; err == nil && len(wanted) > 0; round++ {
		if round == maxRounds {
			return &wire.ProtocolError{Message: "the machine asks for the same files again and again"}
		}
		asked := wanted
		wanted = make(map[digest]bool)
		err = b.talk(c, func() error {
			return b.sendContents(c, h, func(d digest) bool { return asked[d] })
		}, wanted)
	}
	return err
}

// talk sends, and receives what the machine lacks then. It receives from the start:
// a machine that refuses a bundle need not wait for its end to say so.
func (b *Bundle) talk(c *wire.Conn, send func() error, wanted map[digest]bool) error {
	var need []byte
	answer := make(chan error, 1)
	fault.Go(func() { answer <- fault.Do(func() error { return c.Expect(wire.KindNeed, &need) }) })
	sent := make(chan error, 1)
	fault.Go(func() { sent <- fault.Do(send) })
	select {
	case err := <-answer:
		if err != nil {
			return err
		}
		if err := <-sent; err != nil {
			return err
		}
	case err := <-sent:
		if err != nil {
			return whyNot(err, answer)
		}
		if err := <-answer; err != nil {
			return err
		}
	}
	if len(need)%len(digest{}) != 0 || len(need)/len(digest{}) > planfile.MaxEntries {
		return &wire.ProtocolError{Message: fmt.Sprintf("the machine asks for files in %d bytes, which cannot be", len(need))}
	}
	for ; len(need) > 0; need = need[len(digest{}):] {
		wanted[digest(need)] = true
	}
	return nil
}

// whyNot gives what the machine says of something that could not be sent.
func whyNot(err error, answer <-chan error) error {
	if _, broken := errors.AsType[*machine.JobError](err); broken {
		return err
	}
	select {
	case said := <-answer:
		if _, ok := errors.AsType[*wire.FailedError](said); ok {
			return said
		}
	case <-time.After(grace):
	}
	return err
}

// prefixes is what a machine has, by the beginnings of digests.
func prefixes(have []byte) map[uint64]bool {
	known := make(map[uint64]bool, len(have)/wire.HaveSize)
	for ; len(have) >= wire.HaveSize; have = have[wire.HaveSize:] {
		known[binary.BigEndian.Uint64(have)] = true
	}
	return known
}

// lead is what the header begins with: its length, and its digest.
const lead = 8 + sha256.Size

func (b *Bundle) sendFirst(c *wire.Conn, h *header, data []byte, have map[uint64]bool) error {
	out := newStream(c, wire.KindBundle)
	sum := sha256.Sum256(data)
	first := append(binary.BigEndian.AppendUint64(make([]byte, 0, lead), uint64(len(data))), sum[:]...)
	if _, err := out.Write(append(first, data...)); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return b.sendContents(c, h, func(d digest) bool { return !have[binary.BigEndian.Uint64(d[:])] })
}

// sendContents sends the contents that are wanted, each once, the lists of directories
// first: each is its digest, its size, and its bytes.
func (b *Bundle) sendContents(c *wire.Conn, h *header, want func(digest) bool) error {
	out := newStream(c, wire.KindContent)
	done := map[digest]bool{}
	send := func(name string, d digest, size int64, open func() (io.ReadCloser, error)) error {
		if !want(d) || done[d] {
			return nil
		}
		done[d] = true
		return sendContent(out, name, d, size, open)
	}
	for _, t := range h.Trees {
		entries, err := states.ReadTree(b.Files, t.Name)
		if err != nil {
			return &machine.JobError{Err: fmt.Errorf("%s: %w", t.Name, err)}
		}
		text := func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(states.TreeText(entries))), nil
		}
		if err := send(t.Name, t.SHA256, t.Size, text); err != nil {
			return err
		}
	}
	for _, f := range h.Files {
		if err := send(f.Name, f.SHA256, f.Size, func() (io.ReadCloser, error) { return states.OpenFile(b.Files, f.Name) }); err != nil {
			return err
		}
	}
	for _, t := range h.Trees {
		if err := b.sendTree(t, send); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return c.Write(wire.KindSent, nil)
}

// sendTree sends the files of a directory.
func (b *Bundle) sendTree(t tree, send func(string, digest, int64, func() (io.ReadCloser, error)) error) error {
	entries, err := states.ReadTree(b.Files, t.Name)
	if err != nil {
		return &machine.JobError{Err: fmt.Errorf("%s: %w", t.Name, err)}
	}
	for i := range entries {
		e := &entries[i]
		if e.Kind != host.Regular {
			continue
		}
		name := path.Join(t.Name, e.Name)
		var d digest
		if err := d.UnmarshalText([]byte(e.SHA256)); err != nil {
			return &machine.JobError{Err: fmt.Errorf("%s: %w", name, err)}
		}
		if err := send(name, d, e.Size, func() (io.ReadCloser, error) { return states.OpenFile(b.Files, name) }); err != nil {
			return err
		}
	}
	return nil
}

func sendContent(out io.Writer, name string, d digest, size int64, open func() (io.ReadCloser, error)) error {
	in, err := open()
	if err != nil {
		return &machine.JobError{Err: err}
	}
	defer in.Close()
	if _, err := out.Write(binary.BigEndian.AppendUint64(d[:len(d):len(d)], uint64(size))); err != nil {
		return err
	}
	source := &measuringReader{in: in, sum: sha256.New()}
	n, err := io.Copy(out, io.LimitReader(source, size))
	if source.err != nil {
		return &machine.JobError{Err: fmt.Errorf("%s: %w", name, source.err)}
	}
	if err != nil {
		return err
	}
	var more [1]byte
	if extra, _ := in.Read(more[:]); n != size || extra > 0 || digest(source.sum.Sum(nil)) != d {
		return &machine.JobError{Err: fmt.Errorf("%s has changed since the site was loaded", name)}
	}
	return nil
}
