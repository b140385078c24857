package host

import (
	"context"
	"io"
)

// ReaderWithin gives a reader that ends with ctx: after that each Read is its cause. Use
// it wherever something long may be read, since nobody waits for gigabytes who has
// asked for the end.
func ReaderWithin(ctx context.Context, r io.Reader) io.Reader { return readerWithin{ctx, r} }

type readerWithin struct {
	ctx context.Context
	r   io.Reader
}

// most is how much one Read takes: what a slow disk gives well within a second.
const most = 1 << 20

func (w readerWithin) Read(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.r.Read(p[:min(len(p), most)])
}
