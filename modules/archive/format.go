package archive

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/tenetcm/tenet/runtime/host"
)

// errEnough ends each early, without an error.
var errEnough = errors.New("enough")

// maxZip is how large a zip file may be that can only be read from its beginning:
// its list stands at its end.
const maxZip = 256 << 20

// maxWindow bounds the memory that a zstd archive may ask for.
const maxWindow = 128 << 20

// input is an open archive.
type input struct {
	name   string
	size   int64
	file   io.ReadCloser
	head   *bufio.Reader
	sums   map[string]hash.Hash // of what was read from file
	sum    io.Writer
	closes []func()
}

// open opens the archive, of the site or of the host.
func (a *Archive) open(ctx context.Context, h host.Host) (*input, error) {
	in := &input{sums: map[string]hash.Hash{"sha256": sha256.New(), "sha512": sha512.New()}}
	in.sum = io.Discard
	if a.Checksum != nil {
		algorithm, _, _ := strings.Cut(*a.Checksum, ":")
		in.sum = in.sums[algorithm]
	}
	if a.File == nil {
		content, err := a.Source.Content()
		if err == nil {
			in.file, err = content.Open()
		}
		in.name, in.size = a.Source.Path, a.Source.Size
		return in.begin(ctx, err)
	}
	in.name = *a.File
	f, err := h.Open(*a.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the archive is not there: %w", err)
	}
	in.file, in.size = f, -1
	return in.begin(ctx, err)
}

func (in *input) begin(ctx context.Context, err error) (*input, error) {
	if err != nil {
		return nil, err
	}
	in.closes = append(in.closes, func() { in.file.Close() })
	in.head = bufio.NewReaderSize(io.TeeReader(host.ReaderWithin(ctx, in.file), in.sum), 64<<10)
	return in, nil
}

func (in *input) close() {
	for _, f := range in.closes {
		f()
	}
}

// verify reads what is left of the archive, and compares its checksum.
func (in *input) verify(ctx context.Context, checksum *string) error {
	if checksum == nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, in.head); err != nil {
		return err
	}
	algorithm, want, _ := strings.Cut(*checksum, ":")
	if is := hex.EncodeToString(in.sums[algorithm].Sum(nil)); is != want {
		return fmt.Errorf("%s is not the archive that it should be: its checksum is %s:%s, not %s", in.name, algorithm, is, *checksum)
	}
	return context.Cause(ctx)
}

// eachItem calls f with each item, in the order of the archive. What f does not read
// is passed over.
func (in *input) eachItem(ctx context.Context, f func(i int, it item, r io.Reader) error) error {
	err := in.items(func(i int, it item, r io.Reader) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r != nil {
			r = host.ReaderWithin(ctx, r)
		}
		return f(i, it, r)
	})
	if err == errEnough {
		return nil
	}
	return err
}

func (in *input) items(f func(i int, it item, r io.Reader) error) error {
	magic, err := in.head.Peek(6)
	if err != nil && err != io.EOF {
		return err
	}
	begins := func(s string) bool { return bytes.HasPrefix(magic, []byte(s)) }
	switch {
	case begins("PK\x03\x04"), begins("PK\x05\x06"):
		return in.zip(f)
	case begins("\x1f\x8b"):
		r, err := gzip.NewReader(in.head)
		return in.tar(r, err, f)
	case begins("\xfd7zXZ\x00"):
		r, err := xz.NewReader(in.head)
		return in.tar(r, err, f)
	case begins("\x28\xb5\x2f\xfd"):
		r, err := zstd.NewReader(in.head, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err == nil {
			in.closes = append(in.closes, r.Close)
		}
		return in.tar(r, err, f)
	case begins("BZh"):
		return in.tar(bzip2.NewReader(in.head), nil, f)
	}
	if start, _ := in.head.Peek(512); len(start) < 512 || string(start[257:262]) != "ustar" {
		return errors.New("it is no archive that is known: a tar file, plain or compressed with gzip, xz, zstd or bzip2, or a zip file")
	}
	return in.tar(in.head, nil, f)
}

func (in *input) tar(r io.Reader, err error, f func(i int, it item, r io.Reader) error) error {
	if err != nil {
		return err
	}
	t := tar.NewReader(r)
	for i := 0; ; i++ {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		it := item{name: h.Name, mode: h.FileInfo().Mode(), link: h.Linkname}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse:
			it.kind = host.Regular
		case tar.TypeDir:
			it.kind = host.Directory
		case tar.TypeSymlink:
			it.kind = host.Symlink
		case tar.TypeLink:
			it.kind, it.hard = host.Regular, true
		case tar.TypeXGlobalHeader:
			continue
		default:
			return fmt.Errorf("%q is a device, a pipe or another thing that is not unpacked", h.Name)
		}
		if err := f(i, it, t); err != nil {
			return err
		}
	}
}

// zip reads a zip file, which begins with its end.
func (in *input) zip(f func(i int, it item, r io.Reader) error) error {
	at, size, err := in.readerAt()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(at, size)
	if err != nil {
		return err
	}
	for i, file := range z.File {
		if err := zipItem(i, file, f); err != nil {
			return err
		}
	}
	return nil
}

func zipItem(i int, file *zip.File, f func(i int, it item, r io.Reader) error) error {
	it := item{name: file.Name, mode: file.Mode()}
	switch it.mode.Type() {
	case 0:
		it.kind = host.Regular
	case fs.ModeDir:
		it.kind = host.Directory
	case fs.ModeSymlink:
		it.kind = host.Symlink
	default:
		return fmt.Errorf("%q is a device, a pipe or another thing that is not unpacked", file.Name)
	}
	switch {
	case file.Flags&1 != 0:
		return fmt.Errorf("%q is encrypted", file.Name)
	case it.mode.Perm() == 0 && it.kind == host.Directory:
		it.mode |= 0o755
	case it.mode.Perm() == 0:
		it.mode |= 0o644
	}
	if it.kind == host.Directory {
		return f(i, it, nil)
	}
	r, err := file.Open()
	if err != nil {
		return fmt.Errorf("%q: %w", file.Name, err)
	}
	defer r.Close()
	if it.kind == host.Symlink {
		target, err := io.ReadAll(io.LimitReader(r, 4096))
		if err != nil {
			return err
		}
		it.link = string(target)
	}
	return f(i, it, r)
}

// readerAt gives the whole archive for reading anywhere.
func (in *input) readerAt() (io.ReaderAt, int64, error) {
	at, ok := in.file.(io.ReaderAt)
	if ok {
		size, err := io.Copy(io.Discard, in.head) // counted, and summed
		return at, size, err
	}
	data, err := io.ReadAll(io.LimitReader(in.head, maxZip+1))
	if err == nil && len(data) > maxZip {
		err = fmt.Errorf("it is a zip file of more than %d bytes, which can only be read from its beginning here: use file, or a tar file", maxZip)
	}
	return bytes.NewReader(data), int64(len(data)), err
}
