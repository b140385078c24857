package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// Content is a file that a bundle needs, or the list of a directory.
type Content struct {
	trust.Content
	Name string // in the site
	Open func() (io.ReadCloser, error)
}

// Seal gives a bundle as it lies between whoever has evaluated it and its machine: all but the contents, compressed and encrypted to the
// machine's key (a recipient of age), and the contents, each once. What is encrypted differs each time.
func (b *Bundle) Seal(registry *states.Registry, recipient string) ([]byte, []Content, error) {
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return nil, nil, fmt.Errorf("%.80q is no key to encrypt to: %w", recipient, err)
	}
	h, err := b.header(registry)
	if err != nil {
		return nil, nil, &machine.JobError{Err: err}
	}
	data, err := json.Marshal(h)
	if err == nil && len(data) > maxHeader {
		err = fmt.Errorf("what is to be done takes %d MiB to say, and %d are allowed", len(data)>>20, maxHeader>>20)
	}
	if err != nil {
		return nil, nil, &machine.JobError{Err: err}
	}
	sealed, err := seal(data, to)
	if err != nil {
		return nil, nil, err
	}
	contents, err := b.contents(h)
	return sealed, contents, err
}

// seal compresses and encrypts data.
func seal(data []byte, to age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	encrypted, err := age.Encrypt(&out, to)
	if err != nil {
		return nil, err
	}
	packed, err := zstd.NewWriter(encrypted, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { _, err := packed.Write(data); return err }, packed.Close, encrypted.Close,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// contents lists what a header names, the lists of directories first.
func (b *Bundle) contents(h *header) ([]Content, error) {
	var list []Content
	seen := map[digest]bool{}
	add := func(name string, d digest, size int64, open func() (io.ReadCloser, error)) {
		if !seen[d] {
			seen[d] = true
			list = append(list, Content{Content: trust.Content{SHA256: trust.Digest(d), Size: size}, Name: name, Open: open})
		}
	}
	file := func(name string) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return states.OpenFile(b.Files, name) }
	}
	entries := make([][]states.TreeEntry, len(h.Trees))
	for i, t := range h.Trees {
		var err error
		if entries[i], err = states.ReadTree(b.Files, t.Name); err != nil {
			return nil, &machine.JobError{Err: fmt.Errorf("%s: %w", t.Name, err)}
		}
		text := states.TreeText(entries[i])
		add(t.Name, t.SHA256, t.Size, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
	}
	for _, f := range h.Files {
		add(f.Name, f.SHA256, f.Size, file(f.Name))
	}
	for i, t := range h.Trees {
		for _, e := range entries[i] {
			if e.Kind != host.Regular {
				continue
			}
			name := path.Join(t.Name, e.Name)
			var d digest
			if err := d.UnmarshalText([]byte(e.SHA256)); err != nil {
				return nil, &machine.JobError{Err: fmt.Errorf("%s: %w", name, err)}
			}
			add(name, d, e.Size, file(name))
		}
	}
	return list, nil
}
