// Package archive makes one archive of a folder, and a folder of an archive: the form in which components, collections, modules and rules travel.
//
// An archive is a tar, compressed by zstd. The tar has one form for the same files, wherever and whenever they are packed: plain files
// alone, sorted by the bytes of their names, without times and owners, with modes 0644 or 0755. Its SHA-256 is the digest of the files, which
// can be computed of a folder as well. Compression is no part of it, so that a better one does not change digests.
//
// Left out are .git, wherever it is, and the folder vendor at the top, which holds other packages. tenet.lock is packed like any file.
// Empty folders are no part of a package, as they are none of a commit in Git. Links are refused.
package archive

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"

	"github.com/tenetcm/tenet/lang/diag"
)

// Limits bound an archive, when it is written and when it is extracted. A field that is 0 stands for its default.
type Limits struct {
	Bytes int64 // of all files together, and of the compressed archive: 256 MiB
	Files int   // 20,000
	Depth int   // names in a path: 32
	Ratio int64 // bytes of the tar for each compressed byte, once it has 16 MiB: 200
}

// The sizes that Limits do not change.
const (
	ratioFrom     = 16 << 20
	window        = 8 << 20 // which every decoder of zstd has to support (RFC 8878)
	digestPrefix  = "sha256:"
	mebibyte      = 1 << 20
	perFile       = 4 << 10 // headers and padding of one file in a tar
	endOfTar      = 1 << 10
	compressExtra = 1 << 20
)

func (l Limits) complete() Limits {
	set := func(n *int64, standard int64) {
		if *n <= 0 {
			*n = standard
		}
	}
	files, depth := int64(l.Files), int64(l.Depth)
	set(&l.Bytes, 256*mebibyte)
	set(&files, 20000)
	set(&depth, 32)
	set(&l.Ratio, 200)
	l.Files, l.Depth = int(files), int(depth)
	return l
}

// Contents is what an archive holds.
type Contents struct {
	Digest string // of the tar: "sha256:" and 64 hexadecimal digits
	Files  int
	Bytes  int64 // of all files
}

// Digest gives the digest of the archive of some files, as "sha256:…".
func Digest(files fs.FS) (string, error) {
	contents, err := writeTar(io.Discard, files, Limits{}.complete())
	return contents.Digest, err
}

// Write writes the archive of some files. One that Extract would refuse by its default limits is an error.
func Write(out io.Writer, files fs.FS) (Contents, error) {
	limits := Limits{}.complete()
	compressed := &counter{out: out}
	encoder, err := zstd.NewWriter(compressed, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return Contents{}, err
	}
	// What is compressed lags behind: a prefix that passes here does so when it is read.
	plain := &counter{out: encoder}
	plain.check = func() error { return limits.checkRatio(plain.bytes, compressed.bytes) }
	contents, err := writeTar(plain, files, limits)
	if closed := encoder.Close(); err == nil {
		err = closed
	}
	return contents, err
}

func (l Limits) checkRatio(plain, compressed int64) error {
	if plain > ratioFrom && plain/l.Ratio > compressed {
		return refuse("leave files out that hold next to nothing, or compress them by themselves",
			"its files are more than %d times as large as the archive, as those that are made to fill a disk", l.Ratio)
	}
	return nil
}

// counter counts what is written.
type counter struct {
	out   io.Writer
	bytes int64
	check func() error // after each write; nil: none
}

func (c *counter) Write(data []byte) (int, error) {
	n, err := c.out.Write(data)
	c.bytes += int64(n)
	if err == nil && c.check != nil {
		err = c.check()
	}
	return n, err
}

// writeTar writes the tar of some files.
func writeTar(out io.Writer, files fs.FS, limits Limits) (Contents, error) {
	list, err := listFiles(files, limits)
	if err != nil {
		return Contents{}, err
	}
	w := newTarWriter(out, limits)
	for _, name := range list {
		if err := w.addFile(files, name); err != nil {
			return Contents{}, err
		}
	}
	return w.close()
}

// tarWriter writes a tar in its one form.
type tarWriter struct {
	names  *names
	limits Limits
	sum    hash.Hash
	tar    *tar.Writer
	files  int
	bytes  int64
}

func newTarWriter(out io.Writer, limits Limits) *tarWriter {
	sum := sha256.New()
	return &tarWriter{names: newNames(limits), limits: limits, sum: sum, tar: tar.NewWriter(io.MultiWriter(sum, out))}
}

func (w *tarWriter) addFile(files fs.FS, name string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return refuseKind(name)
	}
	if err := w.begin(name, info.Size(), info.Mode()&0o100 != 0); err != nil {
		return err
	}
	n, err := io.Copy(w.tar, io.LimitReader(f, info.Size()+1))
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n != info.Size() {
		return refuse("do it again once nothing writes to it", "%s has changed while it was read", quote(name))
	}
	return err
}

// begin begins a file: its contents follow.
func (w *tarWriter) begin(name string, size int64, executable bool) error {
	if err := w.names.add(name); err != nil {
		return err
	}
	if w.files++; w.files > w.limits.Files {
		return refuseCount(w.limits)
	}
	if size < 0 || size > w.limits.Bytes-w.bytes {
		return refuse("leave out what is large, and have hosts fetch it", "its files have more than %s", humanSize(w.limits.Bytes))
	}
	w.bytes += size
	mode := int64(0o644)
	if executable {
		mode = 0o755
	}
	// PAX is written only where a name needs it.
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: mode, Format: tar.FormatPAX})
}

// Write writes contents of the file that was begun.
func (w *tarWriter) Write(data []byte) (int, error) { return w.tar.Write(data) }

func (w *tarWriter) close() (Contents, error) {
	if w.files == 0 {
		return Contents{}, refuse("", "it has no files")
	}
	if err := w.tar.Close(); err != nil {
		return Contents{}, err
	}
	return Contents{Digest: digestPrefix + hex.EncodeToString(w.sum.Sum(nil)), Files: w.files, Bytes: w.bytes}, nil
}

// refuse makes an error about a package, whose name the caller has.
func refuse(hint, format string, args ...any) error {
	return &diag.HintError{Code: "package", Message: fmt.Sprintf(format, args...), Hint: hint}
}

func humanSize(bytes int64) string {
	if bytes >= mebibyte {
		return fmt.Sprintf("%d MiB", bytes/mebibyte)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
