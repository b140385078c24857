package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// InlineLimit is the size up to which content is held in memory and shown in
// diffs, in bytes.
const InlineLimit = 1 << 20

// Content is what a regular file holds, or shall hold. Up to InlineLimit it
// may be held in memory; above, it is a size, a digest and a way to open it,
// so that a large file never stands in memory. The zero Content is empty.
type Content struct {
	inline string
	size   int64
	sum    string // hex SHA-256; empty for inline content
	open   func() (io.ReadCloser, error)

	restored bool // see Restored
}

// Text is content held in memory; any bytes are allowed.
func Text(s string) Content { return Content{inline: s, size: int64(len(s))} }

// Stream is content that open delivers anew each time: size bytes with this
// hex-encoded SHA-256. A nil open makes content that can be compared only.
func Stream(size int64, sum string, open func() (io.ReadCloser, error)) Content {
	return Content{size: size, sum: sum, open: open}
}

// unseen is the digest of content that nobody has read.
const unseen = "unseen"

// Unread is content of which only the size is known: size bytes that open delivers.
// It can be written, and equals nothing.
func Unread(size int64, open func() (io.ReadCloser, error)) Content {
	return Content{size: size, sum: unseen, open: open}
}

// IsRead reports whether somebody has read the content, so that its digest is known.
func (c Content) IsRead() bool { return c.sum != unseen }

// Flow is content that nobody has seen yet: whatever open delivers, once. It can
// be written, and equals nothing; its size is -1. What open gives may end with an
// error where the bytes are not as they should be: then nothing is put in place.
func Flow(open func() (io.ReadCloser, error)) Content {
	return Content{size: -1, sum: unseen, open: open}
}

// Size is the length in bytes.
func (c Content) Size() int64 { return c.size }

// Inline gives the bytes, if they are held in memory.
func (c Content) Inline() (string, bool) { return c.inline, c.sum == "" }

// IsText reports whether the content is in memory and can be shown as text:
// valid UTF-8 without NUL.
func (c Content) IsText() bool {
	s, ok := c.Inline()
	return ok && utf8.ValidString(s) && !strings.Contains(s, "\x00")
}

// Sum is the SHA-256 in lower-case hex; "unseen" of what nobody has read.
func (c Content) Sum() string {
	if c.sum != "" {
		return c.sum
	}
	sum := sha256.Sum256([]byte(c.inline))
	return hex.EncodeToString(sum[:])
}

// Equal reports whether both hold the same bytes.
func (c Content) Equal(o Content) bool {
	if c.size != o.size || c.sum == unseen {
		return false
	}
	if c.sum == "" && o.sum == "" {
		return c.inline == o.inline
	}
	return c.Sum() == o.Sum()
}

// Open gives a reader of the content.
func (c Content) Open() (io.ReadCloser, error) {
	if c.sum == "" {
		return io.NopCloser(strings.NewReader(c.inline)), nil
	}
	if c.open == nil {
		return nil, fmt.Errorf("content sha256:%s is not at hand", c.sum)
	}
	return c.open()
}

// ReadContent reads a regular file of the host. info is its Lstat (or of the
// file that a link leads to), for the size; a file that grows meanwhile is
// read as it was sized up to a limit and then streamed, so the answer is
// always the whole content. Reading ends with ctx.
func ReadContent(ctx context.Context, r Reader, path string, info Info) (Content, error) {
	opened, err := r.Open(path)
	if err != nil {
		return Content{}, err
	}
	defer opened.Close()
	return readContent(ctx, opened, info, func() (func() (io.ReadCloser, error), error) { return openerOf(r, path) })
}

// readContent reads an open file; again gives what opens it once more.
func readContent(ctx context.Context, opened io.Reader, info Info, again func() (func() (io.ReadCloser, error), error)) (Content, error) {
	f := ReaderWithin(ctx, opened)
	buf := make([]byte, 0, min(info.Size, InlineLimit)+1)
	for len(buf) <= InlineLimit {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		// Less than asked for, and all that the file holds, is its end.
		whole := err == nil && n > 0 && len(buf) < cap(buf) && int64(len(buf)) == info.Size
		if err == io.EOF || whole {
			return Text(string(buf)), nil
		}
		if err != nil {
			return Content{}, err
		}
	}
	sum := sha256.New()
	size, err := io.Copy(sum, io.MultiReader(bytes.NewReader(buf), f))
	if err != nil {
		return Content{}, err
	}
	open, err := again()
	if err != nil {
		return Content{}, err
	}
	return Stream(size, hex.EncodeToString(sum.Sum(nil)), open), nil
}

// CompareContent is ReadContent for who only wants to know whether the file holds what
// is wanted: a large one of another size is not read.
func CompareContent(ctx context.Context, r Reader, path string, info Info, want Content) (Content, error) {
	if info.Size == want.size {
		return ReadContent(ctx, r, path, info)
	}
	return CopyContent(ctx, r, path, info)
}

// CopyContent is ReadContent for who writes elsewhere what the file holds: a large one
// is read only then.
func CopyContent(ctx context.Context, r Reader, path string, info Info) (Content, error) {
	if info.Size <= InlineLimit {
		return ReadContent(ctx, r, path, info)
	}
	f, err := r.Open(path) // whether that is allowed is known now
	if err != nil {
		return Content{}, err
	}
	open, err := openerOf(r, path)
	return Unread(info.Size, open), errors.Join(err, f.Close())
}

// CopyContentIn is CopyContent of what has a name in an open directory, which it describes.
// Content that is large is to be read before the directory is closed; one on a shadow may be
// read later. It is of the file that is described, or reading it is an error.
func CopyContentIn(ctx context.Context, d DirReader, name string) (Content, Info, error) {
	f, info, err := d.Open(name)
	if err != nil {
		return Content{}, Info{}, err
	}
	defer f.Close()
	again := func() (func() (io.ReadCloser, error), error) { return openerIn(d, name, info) }
	if info.Size <= InlineLimit {
		c, err := readContent(ctx, f, info, again)
		return c, info, err
	}
	open, err := again()
	return Unread(info.Size, open), info, err
}

// openerIn gives a function that opens the file in a directory as it is now.
func openerIn(d DirReader, name string, info Info) (func() (io.ReadCloser, error), error) {
	if o, ok := d.(opener); ok {
		if open, err := o.opener(name); open != nil || err != nil {
			return open, err
		}
	}
	return func() (io.ReadCloser, error) {
		f, now, err := d.Open(name)
		if err == nil && now.ID != info.ID {
			return nil, errors.Join(pathError("open", name, errExchanged), f.Close())
		}
		return f, err
	}, nil
}

var errExchanged = errors.New("another file has come in its place")

// openerOf gives a function that opens the file as it is now, where the host can.
func openerOf(r Reader, path string) (func() (io.ReadCloser, error), error) {
	if o, ok := r.(opener); ok {
		if open, err := o.opener(path); open != nil || err != nil {
			return open, err
		}
	}
	return func() (io.ReadCloser, error) { return r.Open(path) }, nil
}
