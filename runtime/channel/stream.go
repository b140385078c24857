package channel

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
)

const (
	// window is how many bytes may be on their way to somebody who does not read them.
	window = 1 << 20
	// piece is how many bytes a packet carries.
	piece = 64 << 10
)

// stream is one end of a connection that is open: bytes, sealed, with credit. A packet that is lost on the way breaks it.
type stream struct {
	packet func([]byte) error // sends one
	seal   func(plain []byte) ([]byte, error)
	open   func(sealed []byte) ([]byte, error)

	out sync.Mutex // held while a piece is sealed and sent: their order counts

	mu     sync.Mutex
	change *sync.Cond
	credit int // how much may be sent
	in     []byte
	read   int // since credit was given last
	err    error
}

func newStream(packet func([]byte) error, seal, open func([]byte) ([]byte, error)) *stream {
	s := &stream{packet: packet, seal: seal, open: open, credit: window}
	s.change = sync.NewCond(&s.mu)
	return s
}

// Write sends bytes, when the other end has room for them.
func (s *stream) Write(data []byte) (int, error) {
	s.out.Lock()
	defer s.out.Unlock()
	done := 0
	for done < len(data) {
		n, err := s.await(min(piece, len(data)-done))
		if err != nil {
			return done, err
		}
		sealed, err := s.seal(data[done : done+n])
		if err == nil {
			err = s.packet(packet(kindData, sealed))
		}
		if err != nil {
			s.end(err)
			return done, err
		}
		done += n
	}
	return done, nil
}

// await takes credit for up to n bytes.
func (s *stream) await(n int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.credit == 0 && s.err == nil {
		s.change.Wait()
	}
	if s.err != nil {
		return 0, s.err
	}
	n = min(n, s.credit)
	s.credit -= n
	return n, nil
}

// Read gives the next bytes.
func (s *stream) Read(data []byte) (int, error) {
	s.mu.Lock()
	for len(s.in) == 0 && s.err == nil {
		s.change.Wait()
	}
	if len(s.in) == 0 {
		defer s.mu.Unlock()
		return 0, s.err
	}
	n := copy(data, s.in)
	s.in = s.in[n:]
	s.read += n
	grant := 0
	if s.read >= window/4 {
		grant, s.read = s.read, 0
	}
	s.mu.Unlock()
	if grant > 0 {
		// Without it the other end waits: a link that does not carry it carries nothing.
		if err := s.packet(packet(kindCredit, binary.BigEndian.AppendUint32(nil, uint32(grant)))); err != nil {
			s.end(err)
		}
	}
	return n, nil
}

// insert adds bytes that came otherwise than sealed in the stream.
func (s *stream) insert(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in = append(s.in, data...)
	s.read -= len(data) // no credit was taken for them
	s.change.Broadcast()
}

// receive takes a packet of the other end in.
func (s *stream) receive(k kind, data []byte) error {
	switch k {
	case kindCredit:
		return s.grant(data)
	case kindClose:
		s.end(closed(data))
		return nil
	case kindData:
	default:
		return refused("a %q packet comes where none is expected", byte(k))
	}
	plain, err := s.open(data)
	if err != nil {
		return &diag.HintError{Code: CodeBroken, Err: errors.New("a part of what was sent is missing, or was changed on the way")}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.in)+len(plain) > 2*window {
		return refused("more is sent than the other end has room for")
	}
	if s.err == nil {
		s.in = append(s.in, plain...)
	}
	s.change.Broadcast()
	return nil
}

func (s *stream) grant(data []byte) error {
	if len(data) != 4 {
		return refused("a grant of credit has %d bytes", len(data))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.credit = int(min(uint64(s.credit)+uint64(binary.BigEndian.Uint32(data)), math.MaxInt32))
	s.change.Broadcast()
	return nil
}

// end has reads and writes fail from now on, once what has come is read.
func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.change.Broadcast()
}

// closed is the error that a reason of the other end stands for; io.EOF: it was done.
func closed(data []byte) error {
	r, err := parseReason(data)
	if err != nil {
		return err
	}
	if r.Message == "" {
		return io.EOF
	}
	return r.err()
}

// counter seals, or opens, with a key that is used for one direction of one connection: nonces are counted.
type counter struct {
	cipher.AEAD
	n uint64
}

func newCounter(key []byte) (*counter, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	return &counter{AEAD: gcm}, err
}

func (c *counter) nonce() []byte {
	nonce := make([]byte, c.NonceSize())
	binary.BigEndian.PutUint64(nonce[len(nonce)-8:], c.n)
	return nonce
}

func (c *counter) seal(plain []byte) ([]byte, error) {
	if c.n == math.MaxUint64 {
		return nil, fmt.Errorf("too much was sent with one key")
	}
	sealed := c.Seal(nil, c.nonce(), plain, nil)
	c.n++
	return sealed, nil
}

func (c *counter) open(sealed []byte) ([]byte, error) {
	plain, err := c.Open(nil, c.nonce(), sealed, nil)
	if err == nil {
		c.n++
	}
	return plain, err
}
