package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/planfile"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Receive receives a bundle into the store. All of it is checked: the error is for
// one that is damaged (a *planfile.DamagedError) or of another format, and then
// nothing of it is used. It keeps what the bundle of the run needs, so that Open finds
// it after a crash, until Forget; what was new is on the disk when it returns.
func (s *Store) Receive(c *wire.Conn) (*Bundle, error) {
	in := &streamReader{conn: c}
	h, err := in.header()
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
	r := &receiver{streamReader: in, folder: folder, store: s, header: h, expected: map[digest]int64{}, lists: map[digest][]states.TreeEntry{}}
	if err := r.receive(); err != nil {
		return nil, err
	}
	return r.bundle()
}

// bundle gives what was received, once it is on the disk.
func (r *receiver) bundle() (*Bundle, error) {
	h := r.header
	b := h.needs.bundle(r.store, r.lists)
	b.Execution, b.Run, b.Places, b.Rows, b.Parallel, b.LockTimeout, b.Once = h.Execution, h.Run, h.Places, h.Rows, h.Parallel, h.LockTimeout, h.Once
	if err := r.folder.keep(h, b.Site(), r.expected, r.wrote); err != nil {
		return nil, err
	}
	return b, nil
}

// header receives the header.
func (in *streamReader) header() (h *header, err error) {
	var data bytes.Buffer
	err = in.unpack(wire.KindBundle, func(r io.Reader) error {
		var first [lead]byte
		if _, err := io.ReadFull(r, first[:]); err != nil {
			return damaged("its header is cut short: %v", err)
		}
		size := binary.BigEndian.Uint64(first[:])
		if size > maxHeader {
			return damaged("its header is larger than %d MiB", maxHeader>>20)
		}
		if n, err := io.Copy(&data, io.LimitReader(r, int64(size))); err != nil || n != int64(size) {
			return damaged("its header is cut short: %v", err)
		}
		if sum := sha256.Sum256(data.Bytes()); !bytes.Equal(sum[:], first[8:]) {
			return damaged("its header and the digest of it differ")
		}
		return wantEnd(r)
	})
	if err != nil {
		return nil, err
	}
	return parseHeader(data.Bytes())
}

// receiver receives contents.
type receiver struct {
	*streamReader
	folder   *folder
	store    *Store
	header   *header
	expected map[digest]int64              // all contents that are known to belong to it, with their sizes
	lists    map[digest][]states.TreeEntry // of directories, that are at hand
	total    int64                         // bytes of those, or of what came before they were known
	count    int
	wrote    bool
}

// expect counts what the header names.
func (r *receiver) expect() error {
	for _, f := range r.header.Files {
		if err := r.add(f.SHA256, f.Size); err != nil {
			return err
		}
	}
	for _, t := range r.header.Trees {
		if err := r.add(t.SHA256, t.Size); err != nil {
			return err
		}
		if err := r.list(t); err != nil {
			return err
		}
	}
	return nil
}

func (r *receiver) receive() error {
	if err := r.expect(); err != nil {
		return err
	}
	for round := 0; ; round++ {
		if err := r.contents(); err != nil {
			return err
		}
		lacking, err := r.missing()
		if err == nil {
			err = r.conn.Send(wire.KindNeed, lacking)
		}
		if err != nil || len(lacking) == 0 {
			return err
		}
		if round == maxRounds {
			return damaged("files of it do not come")
		}
	}
}

// add counts a content as one of the bundle.
func (r *receiver) add(d digest, size int64) error {
	if known, ok := r.expected[d]; ok {
		if known != size {
			return damaged("it lists a file with two sizes")
		}
		return nil
	}
	if size < 0 || size > planfile.MaxContent {
		return damaged("a file of it cannot have %d bytes", size)
	}
	r.expected[d] = size
	return nil
}

// list adds what is in a directory, if its list is at hand.
func (r *receiver) list(t tree) error {
	if _, known := r.lists[t.SHA256]; known {
		return nil
	}
	entries, err := r.store.list(t)
	if _, broken := errors.AsType[*DamagedError](err); broken {
		return nil // it is asked for
	}
	if err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		if e.Kind != host.Regular {
			continue
		}
		var d digest
		if err := d.UnmarshalText([]byte(e.SHA256)); err != nil {
			return damaged("the list of %s: %v", t.Name, err)
		}
		if err := r.add(d, e.Size); err != nil {
			return err
		}
	}
	r.lists[t.SHA256] = entries
	return nil
}

// list reads the list of a directory.
func (s *Store) list(t tree) ([]states.TreeEntry, error) {
	in, err := s.content(file(t))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, t.Size+1))
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	if int64(len(text)) > t.Size {
		return nil, &DamagedError{Name: t.Name}
	}
	entries, err := states.ParseTree(text)
	if err != nil {
		return nil, damaged("%s: %v", t.Name, err)
	}
	for i := range entries {
		if !validName(entries[i].Name) {
			return nil, damaged("%q is no name in a directory", entries[i].Name)
		}
	}
	return entries, nil
}

// contents receives what comes until the other side says that it has sent all.
func (r *receiver) contents() error {
	if f, err := r.peek(); err != nil {
		return err
	} else if f.Kind == wire.KindContent {
		if err := r.unpack(wire.KindContent, r.records); err != nil {
			return err
		}
	}
	_, err := r.take(wire.KindSent)
	return err
}

// records receives contents, each with its digest and its size before it.
func (r *receiver) records(in io.Reader) error {
	for {
		var head [len(digest{}) + 8]byte
		switch _, err := io.ReadFull(in, head[:]); {
		case err == io.EOF:
			return nil
		case err != nil:
			return damaged("%v", err)
		}
		d, size := digest(head[:]), int64(binary.BigEndian.Uint64(head[len(digest{}):]))
		if err := r.record(in, d, size); err != nil {
			return err
		}
	}
}

func (r *receiver) record(in io.Reader, d digest, size int64) error {
	known, ok := r.expected[d]
	if ok && known != size || !ok && r.complete() {
		return damaged("a file came that it does not list")
	}
	// What belongs to a directory whose list is still to come is known by its digest
	// alone; so it is bounded here as well.
	if size < 0 || size > planfile.MaxContent {
		return damaged("a file came that is larger than 4 GiB")
	}
	if r.total, r.count = r.total+size, r.count+1; r.total > planfile.MaxContent || r.count > planfile.MaxEntries {
		return damaged("more came than 4 GiB or %d files", planfile.MaxEntries)
	}
	if err := r.folder.put(d, size, in); err != nil {
		return err
	}
	r.wrote = true
	for _, t := range r.header.Trees {
		if t.SHA256 == d {
			return r.list(t)
		}
	}
	return nil
}

// complete reports whether all lists of directories are at hand.
func (r *receiver) complete() bool {
	return !slices.ContainsFunc(r.header.Trees, func(t tree) bool { return r.lists[t.SHA256] == nil })
}

// missing gives the digests of contents that are not there.
func (r *receiver) missing() ([]byte, error) {
	if len(r.expected) > planfile.MaxEntries {
		return nil, damaged("it holds more than %d files", planfile.MaxEntries)
	}
	var total int64
	for _, size := range r.expected {
		if total += size; total > planfile.MaxContent {
			return nil, damaged("its files are larger than 4 GiB")
		}
	}
	there, err := r.folder.present(r.expected)
	if err != nil {
		return nil, err
	}
	var lacking []byte
	for d := range r.expected {
		if !there(d) {
			lacking = append(lacking, d[:]...)
		}
	}
	return lacking, nil
}

// keep writes down what the bundle needs, for its run and for the next bundle of its
// site.
func (f *folder) keep(h *header, site string, due map[digest]int64, wrote bool) error {
	if h.Execution != "" {
		data, err := json.Marshal(h.needs)
		if err == nil {
			err = f.replace(recordPath(h.Execution), data)
		}
		if err != nil {
			return err
		}
	}
	changed, err := f.remember(site, due)
	if err == nil && (wrote || changed) {
		err = f.sync()
	}
	return err
}
