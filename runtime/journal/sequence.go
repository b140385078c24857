package journal

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The events of all runs of a folder are one sequence. A run's own numbers begin at 1 in each, and a run may go on after others; so sequence.json
// says, for each stretch of a run that one process has written, with which number it begins. It is written by who holds the lock alone, before the first
// event of the stretch: a number never stands for two events, whatever dies when, and none is left out.
//
// What a loss of power takes of a stretch that was not durable had numbers, too, which somebody may have seen: after it they go on by lostByPower higher.
const (
	sequenceFile = "sequence.json"
	// lostByPower is more events than a kernel may hold that are not on the disk.
	lostByPower = 1 << 20
)

// sequence is what sequence.json holds.
type sequence struct {
	Name      string    `json:"name"` // random: numbers of another sequence mean nothing here
	Stretches []stretch `json:"stretches"`
}

// stretch is what one process has written of a run.
type stretch struct {
	Run   string `json:"run"`
	After int64  `json:"after,omitempty"` // the number within the run before its first event
	First int64  `json:"first"`           // the number in the sequence of its first event
	// Last is that of the last one, First-1 if there is none, once IsOver.
	Last   int64  `json:"last,omitempty"`
	IsOver bool   `json:"over,omitempty"`
	Boot   string `json:"boot,omitempty"`
	// IsDurable says that all of it is on the disk.
	IsDurable bool `json:"durable,omitempty"`
	// IsAfterLoss says that numbers before its first may have been those of events that a loss of power has taken.
	IsAfterLoss bool `json:"after_loss,omitempty"`
}

// is tells whether two are the same stretch, whatever is known of its end.
func (s *stretch) is(o *stretch) bool {
	return s.First == o.First && s.Run == o.Run && s.After == o.After
}

// errSequence says that the sequence cannot be read.
var errSequence = errors.New("the sequence of events is damaged: the next apply begins another one")

// readSequence gives the sequence; nil: there is none yet.
func (f *Folder) readSequence() (*sequence, error) {
	data, err := f.disk.readFile(filepath.Join(f.dir, sequenceFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &sequence{}
	if sealed, err := isSealed(data); err != nil || !sealed || json.Unmarshal(data, s) != nil || s.Name == "" {
		return nil, errSequence
	}
	return s, nil
}

func (f *Folder) writeSequence(s *sequence, durable bool) error {
	line, err := seal(s)
	if err != nil {
		return err
	}
	if err := f.disk.replace(filepath.Join(f.dir, sequenceFile), line, durable); err != nil {
		return fmt.Errorf("the sequence of events cannot be written: %w", err)
	}
	return nil
}

// settleSequence takes note of all that was written so far. The lock is held, and what dead processes have left torn is cut.
func (f *Folder) settleSequence() (*sequence, error) {
	s, err := f.readSequence()
	if err != nil && !errors.Is(err, errSequence) {
		return nil, err
	}
	isChanged := s == nil
	if isChanged {
		s = &sequence{Name: rand.Text()}
	}
	ids, err := f.ids()
	if err != nil {
		return nil, err
	}
	if n := len(s.Stretches); n > 0 && !s.Stretches[n-1].IsOver {
		isChanged = true
		if err := f.endStretch(&s.Stretches[n-1]); err != nil {
			return nil, err
		}
	}
	// Runs of a version that knows no sequence, or of one that is damaged.
	newest := ""
	for i := range s.Stretches {
		newest = max(newest, s.Stretches[i].Run)
	}
	for _, id := range ids {
		if id <= newest {
			continue
		}
		isChanged = true
		one := stretch{Run: id, First: s.next(), Boot: BootID()}
		if err := f.endStretch(&one); err != nil {
			return nil, err
		}
		s.Stretches = append(s.Stretches, one)
	}
	kept := len(s.Stretches)
	last := kept - 1
	list := s.Stretches
	s.Stretches = nil
	for i, one := range list { // the last one has the next number
		if i == last || one.Last >= one.First && slices.Contains(ids, one.Run) {
			s.Stretches = append(s.Stretches, one)
		}
	}
	if isChanged || len(s.Stretches) < kept {
		return s, f.writeSequence(s, false)
	}
	return s, nil
}

// next is the number after the last one. All stretches are over.
func (s *sequence) next() int64 {
	if n := len(s.Stretches); n > 0 {
		return s.Stretches[n-1].Last + 1
	}
	return 1
}

// endStretch finds out where a stretch has ended that nobody writes any more.
func (f *Folder) endStretch(s *stretch) error {
	last, err := f.lastEvent(s.Run)
	if err != nil {
		return err
	}
	s.IsOver, s.Last = true, s.First+max(last-s.After, 0)-1
	return nil
}

// lastEvent gives the number within a run of its last whole event; 0: there is none.
func (f *Folder) lastEvent(id string) (last int64, err error) {
	file, err := f.disk.read(f.path(id, "events.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if line, ok := lastLine(file); ok {
		var ev struct{ Seq int64 }
		if unseal(line, &ev) == nil {
			return ev.Seq, nil
		}
	}
	for ev, err := range f.Events(id) {
		if err != nil { // what is damaged is nobody's
			break
		}
		last = ev.Seq
	}
	return last, nil
}

// lastLine gives the last line that was written to its end.
func lastLine(file *os.File) (line []byte, ok bool) {
	info, err := file.Stat()
	if err != nil {
		return nil, false
	}
	for size := int64(1 << 14); ; size *= 8 {
		from := max(0, info.Size()-size)
		block := make([]byte, info.Size()-from)
		if _, err := file.ReadAt(block, from); err != nil {
			return nil, false
		}
		end := bytes.LastIndexByte(block, '\n')
		if end < 0 && from == 0 {
			return nil, false
		}
		if begin := bytes.LastIndexByte(block[:max(end, 0)], '\n'); end >= 0 && (begin >= 0 || from == 0) {
			return block[begin+1 : end+1], true
		}
	}
}

// beginStretch gives what this process writes of the run its place in the sequence.
func (r *Run) beginStretch(s *sequence, after int64) error {
	one := stretch{Run: r.ID(), After: after, First: s.next(), Boot: BootID()}
	if n := len(s.Stretches); n > 0 {
		if last := &s.Stretches[n-1]; last.Boot != one.Boot && !last.IsDurable {
			one.First, one.IsAfterLoss = one.First+lostByPower, true
		}
	}
	s.Stretches = append(s.Stretches, one)
	r.sequence, r.last = s, after
	return r.folder.writeSequence(s, false)
}

// endStretch notes where what this process writes has ended. If it writes more after that, another stretch begins.
func (r *Run) endStretch(durable bool) error {
	s := r.sequence
	one := &s.Stretches[len(s.Stretches)-1]
	if one.IsOver {
		written := one.After + one.Last - one.First + 1
		if written == r.last {
			return nil
		}
		s.Stretches = append(s.Stretches, stretch{Run: r.ID(), After: written, First: one.Last + 1, Boot: BootID()})
		one = &s.Stretches[len(s.Stretches)-1]
	}
	one.IsOver, one.IsDurable, one.Last = true, durable, one.First+r.last-one.After-1
	return r.folder.writeSequence(s, durable)
}
