package archive

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/tenetcm/tenet/internal/sitefiles"
)

// Options say how an archive is extracted.
type Options struct {
	Limits Limits
	// Digest is what that of the archive has to be, as "sha256:…"; empty: any.
	Digest string
}

// Extract makes a folder of an archive, whole or not at all: it is made beside, and has its name once all of it was looked at. The folder must not be
// there, of which fs.ErrExist tells; the one that it lies in must. An archive that Write would not have written in this form is refused, so that
// Digest of the folder is what the archive had. Nothing is forced to the disk: after a loss of power, Digest tells whether the folder is whole.
func Extract(ctx context.Context, in io.Reader, dir string, o Options) (Contents, error) {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = &fs.PathError{Op: "extract", Path: dir, Err: fs.ErrExist}
		}
		return Contents{}, err
	}
	beside := filepath.Join(filepath.Dir(dir), ".extract-"+rand.Text())
	if err := os.Mkdir(beside, 0o755); err != nil {
		return Contents{}, err
	}
	contents, err := extractInto(ctx, in, beside, o)
	if err == nil {
		err = os.Chmod(beside, 0o755) // whatever the umask is
	}
	if err == nil {
		err = os.Rename(beside, dir)
	}
	if err != nil {
		if left := os.RemoveAll(beside); left != nil {
			err = errors.Join(err, left)
		}
		return Contents{}, err
	}
	return contents, nil
}

func extractInto(ctx context.Context, in io.Reader, dir string, o Options) (Contents, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Contents{}, err
	}
	defer root.Close()
	return Read(ctx, in, o, func(name string, executable bool, content io.Reader) error {
		return sitefiles.Write(root, name, executable, content)
	})
}

// Read reads an archive, and hands on its files in their order; f may be nil. What was handed on counts only if there is no error in the end.
func Read(ctx context.Context, in io.Reader, o Options, f func(name string, executable bool, content io.Reader) error) (Contents, error) {
	limits := o.Limits.complete()
	r := &reader{ctx: ctx, in: in, limits: limits, sum: sha256.New()}
	decoder, err := zstd.NewReader(readerFunc(r.compressed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true))
	if err != nil {
		return Contents{}, err
	}
	defer decoder.Close()
	r.decoder = decoder
	contents, err := r.read(f)
	if err != nil {
		return Contents{}, r.explain(err)
	}
	if o.Digest != "" && contents.Digest != o.Digest {
		return Contents{}, refuse("", "its digest is %s, not %s", contents.Digest, quote(o.Digest))
	}
	return contents, nil
}

// reader reads an archive, and counts what goes in and what comes out.
type reader struct {
	ctx                 context.Context
	in                  io.Reader
	decoder             io.Reader
	limits              Limits
	sum                 hash.Hash // of the tar as it is
	inBytes, plainBytes int64
	failed              error // of in, which the decoder may tell in other words
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(data []byte) (int, error) { return f(data) }

func (r *reader) compressed(data []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		r.failed = err
		return 0, err
	}
	n, err := r.in.Read(data)
	if r.inBytes += int64(n); r.inBytes > r.limits.Bytes+compressExtra {
		err = refuse("", "it is larger than %s", humanSize(r.limits.Bytes))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return n, err
}

func (r *reader) plain(data []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	n, err := r.decoder.Read(data)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(err)
	}
	r.sum.Write(data[:n])
	r.plainBytes += int64(n)
	if r.plainBytes > r.limits.Bytes+int64(r.limits.Files)*perFile+endOfTar {
		return 0, refuse("", "its tar is larger than %d files of %s can be", r.limits.Files, humanSize(r.limits.Bytes))
	}
	if refusal := r.limits.checkRatio(r.plainBytes, r.inBytes); refusal != nil {
		return 0, refusal
	}
	return n, err
}

func (r *reader) read(f func(string, bool, io.Reader) error) (Contents, error) {
	in := readerFunc(r.plain)
	t := tar.NewReader(in)
	same := newTarWriter(io.Discard, r.limits) // the tar as it has to be
	for {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Contents{}, err
		}
		if err := takeEntry(header, t, same, f); err != nil {
			return Contents{}, err
		}
	}
	// The reader of a tar stops at its end, whatever comes after it.
	if n, err := io.ReadFull(in, make([]byte, 1)); n > 0 {
		return Contents{}, refuse("", "more follows after its end")
	} else if err != io.EOF {
		return Contents{}, err
	}
	contents, err := same.close()
	if err != nil {
		return Contents{}, err
	}
	if is := digestPrefix + hex.EncodeToString(r.sum.Sum(nil)); is != contents.Digest {
		return Contents{}, refuse("make it by tenet package", "it has not the form of a package's archive: times, owners, modes or the end are other than they have to be")
	}
	return contents, nil
}

func takeEntry(header *tar.Header, content io.Reader, same *tarWriter, f func(string, bool, io.Reader) error) error {
	if header.Typeflag != tar.TypeReg {
		if header.Typeflag == tar.TypeDir {
			return refuse("make it by tenet package", "it holds the folder %s by itself, and not by its files", quote(header.Name))
		}
		return refuseKind(header.Name)
	}
	executable := header.Mode&0o100 != 0
	if err := same.begin(header.Name, header.Size, executable); err != nil {
		return err
	}
	content = io.TeeReader(content, same)
	if f != nil {
		if err := f(header.Name, executable, content); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, content)
	return err
}

// explain says what is wrong with an archive in words of tenet's.
func (r *reader) explain(err error) error {
	if r.failed != nil {
		return r.failed
	}
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged(err)
	}
	return err
}

func damaged(err error) error {
	return refuse("", "it is damaged, or no archive of a package (a tar in zstd): %v", err)
}
