package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
)

// holdingPath is the file of what a site holds.
func (f *Folder) holdingPath(site string) string {
	name := url.PathEscape(site)
	if len(name) > 180 { // a file name has at most 255 bytes
		sum := sha256.Sum256([]byte(site))
		name = name[:180] + "-" + hex.EncodeToString(sum[:8])
	}
	return filepath.Join(f.dir, "managed", name+".jsonl")
}

// readHolding reads what a site holds; one of which nothing is known holds nothing.
// Unlike managed.json this is no cache: what is damaged is not written over.
func (f *Folder) readHolding(site string) (*Holding, error) {
	path := f.holdingPath(site)
	file, err := f.disk.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return NewHolding(site), nil
	}
	if err != nil {
		return nil, fmt.Errorf("what the site %s has created cannot be read: %w", site, err)
	}
	defer file.Close()
	h := NewHolding(site)
	in, lines := bufio.NewReaderSize(file, 1<<16), sealedLines{}
	decode := func(v any) error {
		line, err := in.ReadBytes('\n')
		if err == nil || err == io.EOF && len(line) > 0 {
			err = lines.check(line)
		}
		if err != nil {
			return err
		}
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		return decoder.Decode(v)
	}
	var header managedHeader
	err = decode(&header)
	if err == nil {
		err = knownManaged(header.Format, ManagedFormat, RetainedFormat, ClusterFormat)
	}
	for err == nil {
		c := &Created{}
		if err = decode(c); err == nil {
			c.Manifest, c.Made = cmp.Or(c.Manifest, c.Made), ""
			h.entries[c.Resource()] = c
		}
	}
	if err == io.EOF && header.Site == site {
		return h, nil
	}
	if err == io.EOF {
		err = fmt.Errorf("it is of the site %q", header.Site)
	}
	return nil, fmt.Errorf("what the site %s has created cannot be read from %s: %w", site, path, err)
}

// writeHolding records what a site holds, durably.
func (f *Folder) writeHolding(h *Holding) error {
	header := managedHeader{Format: ManagedFormat, Site: h.Site}
	if slices.ContainsFunc(h.Entries(), func(c *Created) bool { return c.Retain != 0 || c.WantedRun != "" }) {
		header.Format = RetainedFormat
	}
	if slices.ContainsFunc(h.Entries(), func(c *Created) bool { return c.Cluster != "" }) {
		header.Format = ClusterFormat
	}
	data, err := seal(header)
	for _, c := range h.Entries() {
		line, wrong := seal(c)
		data, err = append(data, line...), Join(err, wrong)
	}
	if err != nil {
		return err
	}
	dir := filepath.Join(f.dir, "managed")
	if _, statErr := os.Stat(dir); errors.Is(statErr, fs.ErrNotExist) {
		err = Join(f.disk.mkdir(dir), f.disk.sync(f.dir))
	}
	if err == nil {
		err = f.disk.replace(f.holdingPath(h.Site), data, true)
	}
	if err != nil {
		return fmt.Errorf("what the site %s has created cannot be recorded: %w", h.Site, err)
	}
	h.changed = false
	return nil
}
