package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/control"
)

// stream is what an agent has to tell, on the disk: segments in a folder, each a file that is named by the number of its first item. An item is
// its length, a checksum of it, and its bytes. Items are durable before their numbers are used, so whatever a crash leaves unfinished at the
// end was never told. Where something else is damaged a new stream is begun: a number never stands for two items.
type stream struct {
	folder   folder
	limits   streamLimits
	queue    *control.Queue
	segments []*segment // oldest first; the last one is written to
	file     file       // of the last one; nil: it is opened when something is added
}

// streamLimits are how much is kept, and how large a segment becomes; 0: as usual.
type streamLimits struct{ kept, segment int64 }

// segment is one file.
type segment struct {
	first uint64
	sizes []int64
	bytes int64
}

const (
	maxSegment  = 4 << 20
	itemHead    = 8
	maxItem     = 8 << 20
	streamName  = "name"
	segmentName = "%020d.items"
)

// errDamaged says that a stream cannot be continued.
var errDamaged = errors.New("the stream is damaged")

// openStream opens the stream of a folder, or begins one.
func openStream(in folder, limits streamLimits) (*stream, error) {
	s := &stream{folder: in, limits: limits}
	s.limits.segment = cmp.Or(limits.segment, maxSegment)
	err := s.load()
	if errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist) {
		err = s.begin()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// begin begins a new stream. The old one is gone before the new one has a name.
func (s *stream) begin() error {
	if s.file != nil {
		if err := s.file.Close(); err != nil {
			return err
		}
		s.file = nil
	}
	if err := s.folder.Remove(streamName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	firsts, err := s.list()
	if err != nil {
		return err
	}
	for _, first := range firsts {
		if err := s.folder.Remove(fmt.Sprintf(segmentName, first)); err != nil {
			return err
		}
	}
	name := rand.Text()
	if err := s.folder.Replace(streamName, []byte(name)); err != nil {
		return err
	}
	s.segments, s.queue = nil, s.newQueue(name, 1, nil)
	return nil
}

func (s *stream) newQueue(name string, first uint64, sizes []int64) *control.Queue {
	q := control.NewQueue(name, first, sizes)
	q.Limit = s.limits.kept
	return q
}

// list gives the numbers that segments begin with.
func (s *stream) list() ([]uint64, error) {
	names, err := s.folder.Names()
	if err != nil {
		return nil, err
	}
	var firsts []uint64
	for _, name := range names {
		var first uint64
		if n, err := fmt.Sscanf(name, segmentName, &first); err == nil && n == 1 && name == fmt.Sprintf(segmentName, first) {
			firsts = append(firsts, first)
		}
	}
	slices.Sort(firsts)
	return firsts, nil
}

// load reads what is there.
func (s *stream) load() error {
	data, err := readFile(s.folder, streamName)
	if err != nil {
		return err
	}
	name := strings.TrimSpace(string(data))
	if name == "" || len(name) > 100 {
		return errDamaged
	}
	firsts, err := s.list()
	if err != nil {
		return err
	}
	var sizes []int64
	for i, first := range firsts {
		g, err := s.scan(first, i == len(firsts)-1)
		if err != nil {
			return err
		}
		if i > 0 && first != firsts[0]+uint64(len(sizes)) || first == 0 {
			return errDamaged
		}
		s.segments, sizes = append(s.segments, g), append(sizes, g.sizes...)
	}
	first := uint64(1)
	if len(firsts) > 0 {
		first = firsts[0]
	}
	s.queue = s.newQueue(name, first, sizes)
	return nil
}

// scan reads a segment. Of the last one what is not finished is cut off.
func (s *stream) scan(first uint64, last bool) (*segment, error) {
	f, err := s.folder.Open(fmt.Sprintf(segmentName, first), false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	g := &segment{first: first}
	in := bufio.NewReader(io.NewSectionReader(f, 0, 1<<62))
	for {
		data, err := readItem(in)
		if err == io.EOF {
			return g, nil
		}
		if err != nil && last && unfinished(f, g.bytes, err) {
			return g, errors.Join(f.Truncate(g.bytes), f.Sync())
		}
		if err != nil {
			return nil, errDamaged
		}
		g.add(len(data))
	}
}

// unfinished tells whether what follows the items of a file is what a crash has left of some that were never told: the file ends within one, or
// with blocks that were not written. No item ends with a zero: each is JSON.
func unfinished(f file, from int64, err error) bool {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	rest, err := io.ReadAll(io.NewSectionReader(f, from, 1<<62))
	return err == nil && bytes.HasSuffix(rest, []byte{0})
}

func (g *segment) add(n int) {
	g.sizes = append(g.sizes, int64(n))
	g.bytes += itemHead + int64(n)
}

// readItem reads one item; io.EOF: there is none.
func readItem(in io.Reader) ([]byte, error) {
	var head [itemHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size == 0 || size > maxItem {
		return nil, errDamaged
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	if crc32.ChecksumIEEE(data) != binary.BigEndian.Uint32(head[4:]) {
		return nil, errDamaged
	}
	return data, nil
}

// append makes items durable, and numbers them.
func (s *stream) append(items [][]byte) error {
	g, err := s.writable()
	if err != nil {
		return err
	}
	var data []byte
	for _, item := range items {
		data = binary.BigEndian.AppendUint32(data, uint32(len(item)))
		data = binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(item))
		data = append(data, item...)
	}
	if _, err := s.file.WriteAt(data, g.bytes); err != nil {
		// What is there of it is cut off when the stream is opened again, or overwritten.
		return err
	}
	if err := s.file.Sync(); err != nil {
		return err
	}
	var first uint64
	for _, item := range items {
		g.add(len(item))
		_, first = s.queue.Append(int64(len(item)))
	}
	return s.drop(first)
}

// writable gives the segment that is written to.
func (s *stream) writable() (*segment, error) {
	if n := len(s.segments); n > 0 && s.segments[n-1].bytes < s.limits.segment {
		g := s.segments[n-1]
		if s.file != nil {
			return g, nil
		}
		var err error
		s.file, err = s.folder.Open(fmt.Sprintf(segmentName, g.first), false)
		return g, err
	}
	if s.file != nil {
		if err := s.file.Close(); err != nil {
			return nil, err
		}
		s.file = nil
	}
	g := &segment{first: s.queue.Last() + 1}
	f, err := s.folder.Open(fmt.Sprintf(segmentName, g.first), true)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Truncate(0), s.folder.Sync()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.file, s.segments = f, append(s.segments, g)
	return g, nil
}

// drop removes segments of which nothing is kept any more.
func (s *stream) drop(first uint64) error {
	for len(s.segments) > 1 && s.segments[1].first <= first {
		if err := s.folder.Remove(fmt.Sprintf(segmentName, s.segments[0].first)); err != nil {
			return err
		}
		s.segments = s.segments[1:]
	}
	return nil
}

// read gives the items from one number to another.
func (s *stream) read(from, to uint64) ([][]byte, error) {
	var items [][]byte
	for _, g := range s.segments {
		end := g.first + uint64(len(g.sizes))
		if from >= end || from < g.first || from > to {
			continue
		}
		more, err := s.readSegment(g, from, min(to, end-1))
		if err != nil {
			return nil, err
		}
		items, from = append(items, more...), min(to, end-1)+1
	}
	if from != to+1 {
		return nil, fmt.Errorf("item %d of the stream is not there: %w", from, errDamaged)
	}
	return items, nil
}

func (s *stream) readSegment(g *segment, from, to uint64) ([][]byte, error) {
	f, err := s.folder.Open(fmt.Sprintf(segmentName, g.first), false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var at int64
	for _, n := range g.sizes[:from-g.first] {
		at += itemHead + n
	}
	in := bufio.NewReader(io.NewSectionReader(f, at, g.bytes-at))
	var items [][]byte
	for n := from; n <= to; n++ {
		data, err := readItem(in)
		if err != nil {
			return nil, fmt.Errorf("item %d of the stream: %w", n, errors.Join(err, errDamaged))
		}
		items = append(items, data)
	}
	return items, nil
}

func (s *stream) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
