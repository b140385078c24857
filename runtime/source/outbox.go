package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
)

// Notice is a report that somebody is to be told.
type Notice struct {
	Number  int64  `json:"number"` // one more for each: the same again repeats it, and what is left out in between was never told
	Address string `json:"address"`
	Report
}

// Outbox keeps reports in the folder of a follower, in their order, until whoever is to be told has taken them. It may be used by several goroutines.
type Outbox struct {
	path string

	mu      sync.Mutex
	number  int64  // of the last one
	digest  string // of what that says
	waiting []kept
}

// kept is a notice that waits.
type kept struct {
	number   int64
	revision Revision
	data     json.RawMessage
}

// outboxFile is what is on the disk.
type outboxFile struct {
	Number  int64             `json:"number"`
	Digest  string            `json:"digest"`
	Waiting []json.RawMessage `json:"waiting"`
}

// How much waits at most. What goes beyond leaves out what was told of a revision before the newest of it, which says how each component stands, and then what is oldest.
const (
	maxWaiting      = 100
	maxWaitingBytes = 4 << 20
	maxOutbox       = 32 << 20
	outboxName      = "outbox.json"
)

// OpenOutbox takes up what waits in the folder of a follower. The outbox can be used even with an error: then it is empty, since what was there is damaged.
func OpenOutbox(dir string) (*Outbox, error) {
	o := &Outbox{path: filepath.Join(dir, outboxName)}
	info, err := os.Stat(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err == nil && info.Size() > maxOutbox {
		err = errors.New("it is too large")
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(o.path)
	}
	if err == nil {
		err = o.read(data)
	}
	if err != nil {
		return &Outbox{path: o.path}, &diag.HintError{Message: "what waits to be told of revisions, " + o.path + ", is damaged, and is not told: " + err.Error(), Hint: "what became of the revision is in " + filepath.Join(dir, recordName)}
	}
	return o, nil
}

func (o *Outbox) read(data []byte) error {
	var f outboxFile
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	o.number, o.digest = f.Number, f.Digest
	for _, data := range f.Waiting {
		var n Notice
		if err := json.Unmarshal(data, &n); err != nil {
			return err
		}
		o.waiting = append(o.waiting, kept{n.Number, n.Revision, data})
	}
	return nil
}

// Add has a report wait. What was added last is not added again: a process may have died before it noted that.
func (o *Outbox) Add(address string, r Report) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	digest, err := digestOf(r)
	if err != nil || digest == o.digest {
		return err
	}
	data, err := json.Marshal(Notice{o.number + 1, address, r})
	if err != nil {
		return err
	}
	o.number++
	o.digest = digest
	o.waiting = append(o.waiting, kept{o.number, r.Revision, data})
	o.trim()
	return o.save(true)
}

// digestOf is that of what a report says, whenever it came to be so.
func digestOf(r Report) (string, error) {
	r.Since = time.Time{}
	data, err := json.Marshal(r)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// trim leaves out what is too much, and never the newest.
func (o *Outbox) trim() {
	size := 0
	for _, k := range o.waiting {
		size += len(k.data)
	}
	isOver := func() bool { return len(o.waiting) > maxWaiting || size > maxWaitingBytes }
	drop := func(i int) {
		size -= len(o.waiting[i].data)
		o.waiting = slices.Delete(o.waiting, i, i+1)
	}
	for i := 0; isOver() && i < len(o.waiting)-1; {
		if o.isOutdated(i) {
			drop(i)
		} else {
			i++
		}
	}
	for isOver() && len(o.waiting) > 1 {
		drop(0)
	}
}

// isOutdated reports whether there is a newer one of the same revision.
func (o *Outbox) isOutdated(i int) bool {
	return slices.ContainsFunc(o.waiting[i+1:], func(k kept) bool { return k.revision.Is(o.waiting[i].revision) })
}

// First gives the one that is to be told next, as JSON of a Notice; nil: none waits.
func (o *Outbox) First() (number int64, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		return 0, nil
	}
	return o.waiting[0].number, o.waiting[0].data
}

// Remove takes out one that was told.
func (o *Outbox) Remove(number int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.remove(number)
}

// Pass takes out one that cannot be told, if a newer one waits, and reports whether it has.
func (o *Outbox) Pass(number int64) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 || o.waiting[len(o.waiting)-1].number == number {
		return false, nil
	}
	return true, o.remove(number)
}

func (o *Outbox) remove(number int64) error {
	o.waiting = slices.DeleteFunc(o.waiting, func(k kept) bool { return k.number == number })
	return o.save(false) // after a loss of power it is told once more, by the same number
}

func (o *Outbox) save(durable bool) error {
	f := outboxFile{o.number, o.digest, []json.RawMessage{}}
	for _, k := range o.waiting {
		f.Waiting = append(f.Waiting, k.data)
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return atomicfile.Replace(o.path, atomicfile.Options{Durable: durable}, atomicfile.Data(data))
}
