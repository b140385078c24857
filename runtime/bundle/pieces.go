package bundle

import (
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/tenetcm/tenet/runtime/wire"
)

// pieceSize is how many bytes a frame of a stream holds at most.
const pieceSize = 256 << 10

// window bounds how much the compression looks back, and so the memory that it takes on
// both sides.
const window = 1 << 20

// stream is a compressed stream that goes out in frames of one kind.
type stream struct {
	conn    *wire.Conn
	kind    wire.Kind
	buffer  []byte
	encoder *zstd.Encoder
}

// newStream begins one. Nothing is sent before something is written.
func newStream(c *wire.Conn, kind wire.Kind) *stream { return &stream{conn: c, kind: kind} }

// Write compresses data.
func (s *stream) Write(data []byte) (int, error) {
	if s.encoder == nil {
		var err error
		s.encoder, err = zstd.NewWriter((*pieces)(s), zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return 0, err
		}
	}
	return s.encoder.Write(data)
}

// Close sends what is left.
func (s *stream) Close() error {
	if s.encoder == nil {
		return nil
	}
	if err := s.encoder.Close(); err != nil {
		return err
	}
	return s.send(s.buffer)
}

func (s *stream) send(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	return s.conn.Write(s.kind, data)
}

// pieces is the stream that a compressor writes to.
type pieces stream

// Write gathers what makes a frame.
func (p *pieces) Write(data []byte) (int, error) {
	n := len(data)
	for len(p.buffer)+len(data) >= pieceSize {
		part := pieceSize - len(p.buffer)
		p.buffer = append(p.buffer, data[:part]...)
		if err := (*stream)(p).send(p.buffer); err != nil {
			return 0, err
		}
		p.buffer, data = p.buffer[:0], data[part:]
	}
	p.buffer = append(p.buffer, data...)
	return n, nil
}

// streamReader reads the streams of a bundle from a connection.
type streamReader struct {
	conn *wire.Conn
	next *wire.Frame // that was received, and not yet used
	err  error       // of the connection
}

// peek gives the next frame, and leaves it there.
func (in *streamReader) peek() (*wire.Frame, error) {
	if in.next == nil && in.err == nil {
		f, err := in.conn.Receive()
		if err == io.EOF { // there is always more to come
			err = io.ErrUnexpectedEOF
		}
		in.next, in.err = &f, err
	}
	return in.next, in.err
}

// take gives the next frame, which has to be of a kind.
func (in *streamReader) take(kind wire.Kind) ([]byte, error) {
	f, err := in.peek()
	if err != nil {
		return nil, err
	}
	if f.Kind != kind {
		return nil, damaged("a %q frame came where a %q was due", f.Kind, kind)
	}
	in.next = nil
	return f.Data, nil
}

// unpack decompresses the frames of a kind that come now.
func (in *streamReader) unpack(kind wire.Kind, do func(io.Reader) error) error {
	raw := &pieceReader{in: in, kind: kind}
	r, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer r.Close()
	err = do(r)
	if in.err != nil { // which has a better word for it
		return in.err
	}
	return err
}

// wantEnd makes sure that nothing follows.
func wantEnd(r io.Reader) error {
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return damaged("there is more in it than there should be")
	case !errors.Is(err, io.EOF):
		return damaged("%v", err)
	}
	return nil
}

// pieceReader reads frames of a kind.
type pieceReader struct {
	in   *streamReader
	kind wire.Kind
	rest []byte
}

// Read gives the next bytes; the end is where another kind of frame comes.
func (p *pieceReader) Read(data []byte) (int, error) {
	for len(p.rest) == 0 {
		f, err := p.in.peek()
		if err != nil {
			return 0, err
		}
		if f.Kind != p.kind {
			return 0, io.EOF
		}
		p.rest, p.in.next = f.Data, nil
	}
	n := copy(data, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
