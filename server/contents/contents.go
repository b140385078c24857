// Package contents keeps the contents of files by their SHA-256: in a folder, or in the database
// of a store, in pieces. Nothing is there under a digest that is not its own.
package contents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

var (
	// ErrNone is what Open answers where there is no such content.
	ErrNone = errors.New("there is no such content")
	// ErrOther is what Put answers when what it has read has another digest than was said, and
	// Read when what was kept has: it was damaged since.
	ErrOther = errors.New("the content has another digest")
)

// Digest is the SHA-256 of a content, in hexadecimal, lower case: nothing else is one.
type Digest string

// ParseDigest refuses what is no digest; so none leads anywhere as the name of a file.
func ParseDigest(text string) (Digest, error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != text {
		return "", fmt.Errorf("%.100q is no digest", text)
	}
	return Digest(text), nil
}

// Sum is the digest of data.
func Sum(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest(hex.EncodeToString(sum[:]))
}

// Store keeps contents. It may be used by many at once.
type Store interface {
	// Put keeps a content, durable when it returns nil. Where it is there already nothing is
	// read, and it counts as put now. What is read must have the digest, or nothing is kept.
	Put(ctx context.Context, d Digest, r io.Reader) error
	// Open reads a content from an offset on, and tells its whole size. Read from its begin to
	// its end, it is checked: in place of io.EOF there is ErrOther.
	Open(ctx context.Context, d Digest, offset int64) (content io.ReadCloser, size int64, err error)
	// Remove forgets a content, if it is there, and nobody has put it at that time or later.
	Remove(ctx context.Context, d Digest, before time.Time) error
	// List calls a function for each content, in any order.
	List(ctx context.Context, each func(Info) error) error
}

// Info says what is kept.
type Info struct {
	Digest Digest
	Size   int64
	At     time.Time // when it was put last
}

// abandoned is the age at which what nobody has finished is taken for what nobody will.
const abandoned = 24 * time.Hour

// check reads to the end, and compares.
type check struct {
	from io.Reader
	sum  hash.Hash
	want Digest
}

func checked(r io.Reader, d Digest) *check { return &check{r, sha256.New(), d} }

// Read gives ErrOther in place of an end that is false.
func (c *check) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.sum.Write(p[:n])
	if err == io.EOF && Digest(hex.EncodeToString(c.sum.Sum(nil))) != c.want {
		err = ErrOther
	}
	return n, err
}

// until lets a context end reading.
type until struct {
	ctx context.Context
	io.Reader
}

// Read reads while the context is not done.
func (u until) Read(p []byte) (int, error) {
	if err := context.Cause(u.ctx); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}

func badOffset(offset, size int64) error {
	return fmt.Errorf("the content has %d bytes: there is nothing from %d on", size, offset)
}
