package planfile

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenetcm/tenet/internal/plainjson"
)

// Limits of an archive. What is larger is neither written nor read.
const (
	MaxArchive = 1 << 30 // bytes of the archive itself, which stands in memory
	MaxContent = 4 << 30 // bytes of all entries, decompressed
	MaxEntries = 200_000
	maxHead    = 32 << 20 // bytes of the manifest
)

// manifestName is the first entry. Its name, at its place in the file, is what
// tells an archive from all else.
const manifestName = "tenet-manifest.json"

// digestPrefix and 64 hex digits are an archive's last bytes: the SHA-256 of all
// before them. They are the comment of the zip file.
const digestPrefix = "sha256:"

const digestLength = len(digestPrefix) + 2*sha256.Size

// manifest is what an archive says about itself.
type manifest struct {
	Format  string          `json:"format"`
	Program string          `json:"program"` // the version that wrote it
	Created time.Time       `json:"created"`
	About   json.RawMessage `json:"about,omitempty"`
	Entries []entry         `json:"entries"`
}

// entry is one file of an archive.
type entry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Archive is data with files that belong to it, in one file that is whole or
// refused: a zip file whose first entry lists all others with size and SHA-256,
// and whose comment is the SHA-256 of everything before it. Any zip program can
// unpack it. That it is whole says nothing about who wrote it.
type Archive struct {
	Format  string    // of what is in it, such as "tenet.plan/1"
	Program string    // the version that wrote it
	Created time.Time // UTC

	about json.RawMessage
	zip   *zip.Reader
	index map[string]*zip.File
	names []string
}

// ArchiveWriter makes an Archive, entry by entry.
type ArchiveWriter struct {
	head    manifest
	pending []pendingEntry
	names   map[string]bool
	total   int64
}

// pendingEntry is an entry and what it holds.
type pendingEntry struct {
	entry
	open func() (io.ReadCloser, error)
}

// NewArchive begins an archive. About is anything that JSON can hold, for the
// manifest; nil: nothing.
func NewArchive(format, program string, created time.Time, about any) (*ArchiveWriter, error) {
	w := &ArchiveWriter{head: manifest{Format: format, Program: program, Created: created.UTC(), Entries: []entry{}}, names: map[string]bool{}}
	if about != nil {
		data, err := encode(about)
		if err != nil {
			return nil, err
		}
		w.head.About = data
	}
	return w, nil
}

// Add adds a file that is in memory.
func (w *ArchiveWriter) Add(name string, data []byte) error {
	return w.AddFile(name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
}

// AddFile adds a file, which is opened twice: it must not change meanwhile.
func (w *ArchiveWriter) AddFile(name string, open func() (io.ReadCloser, error)) error {
	if !validName(name) {
		return fmt.Errorf("%q cannot be the name of a file in an archive", name)
	}
	if w.names[name] {
		return fmt.Errorf("two files are named %s", name)
	}
	w.names[name] = true
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	digest := sha256.New()
	size, err := io.Copy(digest, io.LimitReader(in, MaxContent+1))
	if err != nil {
		return err
	}
	if w.total += size; w.total > MaxContent || len(w.pending) == MaxEntries {
		return errTooLarge
	}
	w.pending = append(w.pending, pendingEntry{entry{name, size, hex.EncodeToString(digest.Sum(nil))}, open})
	return nil
}

var errTooLarge = errors.New("it would be larger than 1 GiB, or hold more than 200,000 files or 4 GiB")

// Bytes gives the archive. The same format, program, time and entries give the
// same bytes, whatever the order in which they were added.
func (w *ArchiveWriter) Bytes() ([]byte, error) {
	slices.SortFunc(w.pending, func(a, b pendingEntry) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range w.pending {
		w.head.Entries = append(w.head.Entries, p.entry)
	}
	head, err := encode(w.head)
	if err != nil {
		return nil, err
	}
	if len(head) > maxHead {
		return nil, errTooLarge
	}
	out := &boundedBuffer{}
	z := zip.NewWriter(out)
	if err := writeEntry(z, manifestName, bytes.NewReader(head), int64(len(head)), digestOf(head)); err != nil {
		return nil, err
	}
	for _, p := range w.pending {
		if err := p.write(z); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(z.SetComment(strings.Repeat("0", digestLength)), z.Close()); err != nil {
		return nil, err
	}
	data := out.Bytes()
	body := data[:len(data)-digestLength]
	return append(body, digestPrefix+digestOf(body)...), nil
}

func (p *pendingEntry) write(z *zip.Writer) error {
	in, err := p.open()
	if err != nil {
		return err
	}
	defer in.Close()
	return writeEntry(z, p.Name, in, p.Size, p.SHA256)
}

func writeEntry(z *zip.Writer, name string, in io.Reader, size int64, sum string) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	h.SetMode(0o600)
	to, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	digest := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, digest), io.LimitReader(in, size+1))
	if err != nil {
		return err
	}
	if n != size || hex.EncodeToString(digest.Sum(nil)) != sum {
		return fmt.Errorf("%s has changed meanwhile", name)
	}
	return nil
}

// boundedBuffer is a buffer that takes no more than an archive may have.
type boundedBuffer struct{ bytes.Buffer }

// Write refuses what is too much.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > MaxArchive {
		return 0, errTooLarge
	}
	return b.Buffer.Write(p)
}

func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	err := plainjson.NewEncoder(&out).Encode(v)
	return out.Bytes(), err
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// validName reports whether a name can stand in an archive.
func validName(name string) bool {
	return fs.ValidPath(name) && name != "." && name != manifestName && len(name) < 4096 &&
		utf8.ValidString(name) && !strings.ContainsAny(name, "\\\x00")
}

// IsArchive tells whether a file that begins so is an archive, whole or not.
func IsArchive(beginning []byte) bool {
	const at = 30 // the length of a zip entry's header before its name
	return len(beginning) >= at+len(manifestName) && bytes.HasPrefix(beginning, []byte("PK\x03\x04")) &&
		string(beginning[at:at+len(manifestName)]) == manifestName
}

// IsArchiveLength is how much of a file's beginning IsArchive wants.
const IsArchiveLength = 30 + len(manifestName)
