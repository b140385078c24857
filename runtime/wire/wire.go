// Package wire is what a controller and a runner say to one another over one
// connection, whatever it goes through: frames, and what is in them.
//
// The runner speaks first, with a Hello. The controller sends a Request and, where
// the request is about a bundle, what the bundle package makes of it. Then the
// runner answers with events, output and data, and last with an End. After a
// Started frame the run goes on whatever becomes of the connection.
package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// Protocol is the version of what is said. Both sides must have the same.
const Protocol = "tenet.wire/1"

// MaxFrame is how many bytes a frame may hold.
const MaxFrame = 16 << 20

// Kind tells what is in a frame.
type Kind byte

// What a runner sends.
const (
	KindHello   Kind = 'H' // a Hello: the first frame
	KindNeed    Kind = 'N' // content that it lacks though it was left out, as the bundle package has it
	KindStarted Kind = 'S' // a Started: the run is recorded, and goes on by itself
	KindEvent   Kind = 'E' // a states.Event, as one line of events.jsonl
	KindNote    Kind = 'M' // a line for people
	KindStdout  Kind = '1' // bytes that a program prints
	KindStderr  Kind = '2'
	KindData    Kind = 'D' // a JSON value that was asked for
	KindPiece   Kind = 'P' // the beginning of one that is larger than a frame, or what follows that
	KindBeat    Kind = 'A' // nothing: the runner is there still; Receive passes over it
	KindEnd     Kind = 'Z' // an End: the last frame
)

// What a controller sends.
const (
	KindRequest Kind = 'Q' // a Request: the first frame
	KindBundle  Kind = 'B' // a piece of a bundle, as the bundle package has it
	KindContent Kind = 'C' // a piece of its files, likewise
	KindSent    Kind = 'X' // all pieces are sent
	KindCancel  Kind = 'K' // what runs is to end as at Ctrl-C
)

// Frame is one message: a kind, and bytes that are JSON for all kinds above that
// are said to be a type.
type Frame struct {
	Kind Kind
	Data []byte
}

// Decode reads the frame's JSON.
func (f Frame) Decode(v any) error {
	if err := json.Unmarshal(f.Data, v); err != nil {
		return &ProtocolError{fmt.Sprintf("a %q frame cannot be read: %v", f.Kind, err)}
	}
	return nil
}

// ProtocolError is what comes of something that is no frame, or one out of place.
type ProtocolError struct{ Message string }

// Error says what it is.
func (e *ProtocolError) Error() string { return e.Message }

// Conn carries frames. One goroutine may receive while others send.
type Conn struct {
	in  *bufio.Reader
	mu  sync.Mutex
	out io.Writer
	// close ends the connection; nil: there is nothing to end.
	close func() error
	begun time.Time
	moved atomic.Int64 // when a frame that says something went or came last, in nanoseconds after begun
	alive atomic.Int64 // the same of any
}

// New makes a connection of two streams. Close, which may be nil, ends both.
func New(in io.Reader, out io.Writer, close func() error) *Conn {
	return &Conn{in: bufio.NewReaderSize(in, 1<<16), out: out, close: close, begun: time.Now()}
}

func (c *Conn) move(kind Kind) {
	now := int64(time.Since(c.begun))
	if c.alive.Store(now); kind != KindBeat {
		c.moved.Store(now)
	}
}

// Moved tells when a frame went or came last that was no beat; before the first, when the
// connection was made. While this machine sleeps, no time passes for time.Since.
func (c *Conn) Moved() time.Time { return c.begun.Add(time.Duration(c.moved.Load())) }

// Alive is Moved, with beats.
func (c *Conn) Alive() time.Time { return c.begun.Add(time.Duration(c.alive.Load())) }

// BeatEvery is how often a runner says that it is there while it has nothing else to say.
const BeatEvery = 30 * time.Second

// Beat says at intervals that this side is there, until stop is called or the connection ends.
func (c *Conn) Beat(every time.Duration) (stop func()) {
	done := make(chan struct{})
	fault.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if c.Write(KindBeat, nil) != nil {
					return // whoever sends next is told
				}
			}
		}
	})
	return sync.OnceFunc(func() { close(done) })
}

// Close ends the connection.
func (c *Conn) Close() error {
	if c.close == nil {
		return nil
	}
	return c.close()
}

// header is a frame's length, its kind not counted, and its kind.
const header = 5

// Write sends a frame of bytes.
func (c *Conn) Write(kind Kind, data []byte) error {
	if len(data) > MaxFrame {
		return &ProtocolError{fmt.Sprintf("a %q frame of %d bytes is too large", kind, len(data))}
	}
	frame := make([]byte, header, header+len(data))
	binary.BigEndian.PutUint32(frame, uint32(len(data)))
	frame[4] = byte(kind)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(frame, data...))
	c.move(kind)
	return err
}

// Send sends a frame of JSON.
func (c *Conn) Send(kind Kind, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Write(kind, data)
}

// Receive waits for the next frame that says anything. The error is io.EOF where the connection ends
// between two frames, and io.ErrUnexpectedEOF where it ends in one.
func (c *Conn) Receive() (Frame, error) {
	for {
		if f, err := c.next(); err != nil || f.Kind != KindBeat {
			return f, err
		}
	}
}

func (c *Conn) next() (Frame, error) {
	var head [header]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return Frame{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > MaxFrame {
		return Frame{}, &ProtocolError{fmt.Sprintf("a frame of %d bytes is too large", size)}
	}
	data, err := c.read(int(size))
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	c.move(Kind(head[4]))
	return Frame{Kind(head[4]), data}, nil
}

// trustedSize is how many bytes are made room for because a frame says that it has them.
const trustedSize = 1 << 20

// read reads so many bytes. Who only says that much comes gets no memory for it.
func (c *Conn) read(size int) ([]byte, error) {
	if size <= trustedSize {
		data := make([]byte, size)
		_, err := io.ReadFull(c.in, data)
		return data, err
	}
	var data bytes.Buffer
	_, err := io.CopyN(&data, c.in, int64(size))
	return data.Bytes(), err
}

// Expect receives a frame of a kind, and reads its JSON into v. A runner that ends
// early says why in an End: then the error is a *FailedError.
func (c *Conn) Expect(kind Kind, v any) error {
	f, err := c.Receive()
	switch {
	case err != nil:
		return err
	case f.Kind == KindEnd && kind != KindEnd:
		var end End
		if err := f.Decode(&end); err != nil {
			return err
		}
		if end.Failure != nil {
			return &FailedError{*end.Failure}
		}
	case f.Kind == kind:
		return f.Decode(v)
	}
	return &ProtocolError{fmt.Sprintf("a %q frame came where a %q was due", f.Kind, kind)}
}
