package bundle

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"slices"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// Fetch is called with contents that a machine lacks, all that are known at a time, and gives what opens each.
type Fetch func(lacking []trust.Content) func(trust.Content) (io.ReadCloser, error)

// Unseal gives what Seal has made of a bundle, once all of its contents are in the store: fetch gets those that are not, each of which is
// checked. One of the keys opens it. As with Receive, nothing of a bundle that is damaged is used, and its contents stay while its site has
// no other bundle.
func (s *Store) Unseal(sealed []byte, fetch Fetch, keys ...age.Identity) (*Bundle, error) {
	h, err := unseal(sealed, keys)
	if err != nil {
		return nil, err
	}
	folder, err := s.open()
	if err != nil {
		return nil, err
	}
	defer folder.close()
	unlock, err := folder.share()
	if err != nil {
		return nil, err
	}
	defer unlock()
	r := &receiver{folder: folder, store: s, header: h, expected: map[digest]int64{}, lists: map[digest][]states.TreeEntry{}}
	if err := r.fetch(fetch); err != nil {
		return nil, err
	}
	return r.bundle()
}

// Look is Unseal where all contents are in the store, of which nothing is changed; else the error is a *DamagedError.
func (s *Store) Look(sealed []byte, keys ...age.Identity) (*Bundle, error) {
	h, err := unseal(sealed, keys)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	f := &folder{store: s, root: root, dirs: map[string]*os.Root{}}
	defer f.close()
	r := &receiver{folder: f, store: s, header: h, expected: map[digest]int64{}, lists: map[digest][]states.TreeEntry{}}
	if err := r.expect(); err != nil {
		return nil, err
	}
	missing, err := r.missing()
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, &DamagedError{Name: "the site", Gone: true}
	}
	b := h.needs.bundle(s, r.lists)
	b.Run, b.Places, b.Rows, b.Parallel, b.LockTimeout, b.Once = h.Run, h.Places, h.Rows, h.Parallel, h.LockTimeout, h.Once
	return b, nil
}

// unseal decrypts a header.
func unseal(sealed []byte, keys []age.Identity) (*header, error) {
	plain, err := age.Decrypt(bytes.NewReader(sealed), keys...)
	if err != nil {
		return nil, damaged("it cannot be decrypted: %v", err)
	}
	unpacked, err := zstd.NewReader(plain, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer unpacked.Close()
	data, err := io.ReadAll(io.LimitReader(unpacked, maxHeader+1))
	if err != nil {
		return nil, damaged("it cannot be decrypted: %v", err)
	}
	if len(data) > maxHeader {
		return nil, damaged("its header is larger than %d MiB", maxHeader>>20)
	}
	return parseHeader(data)
}

// fetch gets the contents that are not there. What is in a directory is known once its list is.
func (r *receiver) fetch(fetch Fetch) error {
	if err := r.expect(); err != nil {
		return err
	}
	for {
		missing, err := r.missing()
		if err != nil || len(missing) == 0 {
			return err
		}
		var lacking []trust.Content
		for one := range slices.Chunk(missing, len(digest{})) {
			lacking = append(lacking, trust.Content{SHA256: trust.Digest(one), Size: r.expected[digest(one)]})
		}
		slices.SortFunc(lacking, func(a, b trust.Content) int {
			return cmp.Or(cmp.Compare(a.Size, b.Size), bytes.Compare(a.SHA256[:], b.SHA256[:]))
		})
		open := fetch(lacking)
		for _, c := range lacking {
			in, err := open(c)
			if err != nil {
				return err
			}
			err = r.record(in, digest(c.SHA256), c.Size)
			in.Close() // it was read; what it says now changes nothing
			if err != nil {
				return err
			}
		}
	}
}
