package link

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
)

// FrameSize is how many bytes a broker is given at once, or less where it takes less. A packet that does not fit into one frame is sent as
// pieces, one after the other, and whoever receives a piece acknowledges it.
const FrameSize = 256 << 10

// Sizes of frames.
const (
	minFrameSize = 1 << 10
	pieceHeader  = 1 + 8 + 4 + 4
	maxPieces    = MaxPacket/(minFrameSize-pieceHeader) + 1
)

// frameKind is the first byte of a frame.
type frameKind byte

const (
	wholeFrame frameKind = 0 // a packet
	pieceFrame frameKind = 1 // its ID, the piece's number from 0, how many pieces there are, and the piece
	ackFrame   frameKind = 2 // the ID of a packet in pieces, and the number of the last one that came
)

// Frame is what a broker carries at once.
type Frame struct {
	kind         frameKind
	id           uint64
	index, count uint32
	data         []byte
}

// Ack is what a frame acknowledges.
type Ack struct {
	ID    uint64 // of the packet
	Index int    // of its piece
}

var errFrame = errors.New("this is no frame")

// ParseFrame reads a frame. What it gives shares the memory.
func ParseFrame(data []byte) (Frame, error) {
	if len(data) == 0 {
		return Frame{}, errFrame
	}
	f := Frame{kind: frameKind(data[0])}
	body := data[1:]
	switch {
	case f.kind == wholeFrame:
		f.data = body
	case f.kind == pieceFrame && len(data) > pieceHeader:
		f.id, f.index, f.count, f.data = binary.BigEndian.Uint64(body), binary.BigEndian.Uint32(body[8:]), binary.BigEndian.Uint32(body[12:]), body[16:]
		if f.count < 2 || f.count > maxPieces || f.index >= f.count {
			return Frame{}, errFrame
		}
	case f.kind == ackFrame && len(body) == 12:
		f.id, f.index = binary.BigEndian.Uint64(body), binary.BigEndian.Uint32(body[8:])
	default:
		return Frame{}, errFrame
	}
	return f, nil
}

// Whole gives the packet's data, if the frame holds all of it.
func (f Frame) Whole() ([]byte, bool) { return f.data, f.kind == wholeFrame }

// Ack gives what the frame acknowledges, if it does.
func (f Frame) Ack() (Ack, bool) { return Ack{ID: f.id, Index: int(f.index)}, f.kind == ackFrame }

// Piece tells whether the frame is a piece, and whether it is the first.
func (f Frame) Piece() (is, first bool) { return f.kind == pieceFrame, f.index == 0 }

// Splitter makes frames of packets.
type Splitter struct {
	Size int // of a frame; 0: FrameSize. A broker may take less.
}

func (s Splitter) size() int {
	if s.Size == 0 {
		return FrameSize
	}
	return min(s.Size, FrameSize)
}

// Check says why a broker takes too little at once.
func (s Splitter) Check() error {
	if s.size() < minFrameSize {
		return fmt.Errorf("the broker takes %d bytes at once, and at least %d are needed", s.Size, minFrameSize)
	}
	return nil
}

// Fits tells whether a packet's data fits into one frame.
func (s Splitter) Fits(data []byte) bool { return len(data) < s.size() }

// Frame gives data that fits as a frame.
func (s Splitter) Frame(data []byte) []byte {
	return append(append(make([]byte, 0, 1+len(data)), byte(wholeFrame)), data...)
}

// Pieces gives data that does not fit as frames, with their numbers. The ID is no other packet's.
func (s Splitter) Pieces(id uint64, data []byte) iter.Seq2[int, []byte] {
	size := s.size() - pieceHeader
	count := (len(data) + size - 1) / size
	return func(yield func(int, []byte) bool) {
		for i := range count {
			piece := data[i*size : min(len(data), (i+1)*size)]
			frame := make([]byte, 0, pieceHeader+len(piece))
			frame = binary.BigEndian.AppendUint64(append(frame, byte(pieceFrame)), id)
			frame = binary.BigEndian.AppendUint32(frame, uint32(i))
			frame = binary.BigEndian.AppendUint32(frame, uint32(count))
			if !yield(i, append(frame, piece...)) {
				return
			}
		}
	}
}

// NewPacketID gives an ID for a packet in pieces.
func NewPacketID() uint64 {
	var id [8]byte
	_, _ = rand.Read(id[:]) // does not fail: it ends the program instead
	return binary.BigEndian.Uint64(id[:])
}

// Joiner makes one packet at a time of the pieces of one sender. What comes with a gap is dropped whole. It keeps no more than has come, and
// at most MaxPacket of it.
type Joiner struct {
	session string
	id      uint64
	next    uint32
	count   uint32 // 0: nothing is begun
	data    []byte
}

// Add takes a piece. It gives the packet once it is whole, and else nil; and the frame that acknowledges the piece, or nil if it was not taken.
func (j *Joiner) Add(session string, f Frame) (packet, ack []byte) {
	if f.kind != pieceFrame {
		return nil, nil
	}
	if f.index == 0 {
		*j = Joiner{session: session, id: f.id, count: f.count}
	}
	if j.count == 0 || f.id != j.id { // the rest of one that was dropped
		return nil, nil
	}
	if session != j.session || f.index != j.next || f.count != j.count || len(j.data)+len(f.data) > MaxPacket {
		*j = Joiner{}
		return nil, nil
	}
	j.data = append(j.data, f.data...)
	j.next++
	ack = binary.BigEndian.AppendUint64([]byte{byte(ackFrame)}, f.id)
	ack = binary.BigEndian.AppendUint32(ack, f.index)
	if j.next == j.count {
		packet = j.data
		*j = Joiner{}
	}
	return packet, ack
}

// Held is how many bytes of memory are kept for a packet that is not whole.
func (j *Joiner) Held() int { return cap(j.data) }
