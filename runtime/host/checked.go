package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// openChecked opens content to be written: reading ends with ctx, and fails
// where the bytes are not those that the content's size and digest promise,
// since a file that changed on its way must not be put in place.
func openChecked(ctx context.Context, c Content) (io.ReadCloser, error) {
	r, err := c.Open()
	if err != nil {
		return nil, err
	}
	checked := &checkedReader{ctx: ctx, r: r, size: c.Size()}
	checked.flows = c.size < 0
	if _, inline := c.Inline(); !inline && c.IsRead() {
		checked.hash, checked.sum = sha256.New(), c.Sum()
	}
	return checked, nil
}

type checkedReader struct {
	ctx   context.Context
	r     io.ReadCloser
	size  int64 // promised
	read  int64
	flows bool // nothing is promised
	sum   string
	hash  hash.Hash // nil: nothing to check
}

func (c *checkedReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	n, err := c.r.Read(p)
	c.read += int64(n)
	if c.hash != nil {
		c.hash.Write(p[:n])
	}
	if c.flows || err != io.EOF && c.read <= c.size {
		return n, err
	}
	if c.hash == nil {
		if c.read != c.size {
			return n, fmt.Errorf("the content is not what it was: %d bytes instead of %d", c.read, c.size)
		}
		return n, err
	}
	if sum := hex.EncodeToString(c.hash.Sum(nil)); c.read != c.size || sum != c.sum {
		return n, fmt.Errorf("the content is not what it was: %d bytes instead of %d, or another sha256 than %s",
			c.read, c.size, c.sum)
	}
	return n, err
}

func (c *checkedReader) Close() error { return c.r.Close() }
