package signing

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Memory is what somebody has signed before, and by what: a file of that person's. It is held by one process at a time.
type Memory struct {
	path  string
	lock  *os.File
	hosts map[trust.ID]HostMemory
}

// HostMemory is what is known of a host.
type HostMemory struct {
	// Seen are the newest numbers that the host has signed, by what they are of, with the digests of what was signed.
	Seen map[string]Seen `json:"seen"`
	// Positions are the last that were signed, by site.
	Positions map[string]trust.Position `json:"positions"`
}

// Seen is something that a host has signed.
type Seen struct {
	Number uint64       `json:"number"`
	Digest trust.Digest `json:"digest"`
}

// OpenMemory opens a file, which need not be there, and waits until nobody else holds it.
func OpenMemory(path string) (_ *Memory, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	m := &Memory{path: path, hosts: map[trust.ID]HostMemory{}}
	if m.lock, err = os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(m.lock.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		err = m.read()
	}
	if err != nil {
		return nil, errors.Join(err, m.lock.Close())
	}
	return m, nil
}

func (m *Memory) read() error {
	data, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, &m.hosts)
	}
	if err != nil {
		return &diag.HintError{Code: "damaged", Message: fmt.Sprintf("what was signed before cannot be read: %s: %v", m.path, err),
			Hint: "restore the file; without it, older facts and keys that a server shows again are not noticed"}
	}
	return nil
}

// Close lets others have it.
func (m *Memory) Close() error { return m.lock.Close() }

// Host gives what is known of a host: a copy.
func (m *Memory) Host(id trust.ID) (HostMemory, error) {
	h := HostMemory{Seen: maps.Clone(m.hosts[id].Seen), Positions: maps.Clone(m.hosts[id].Positions)}
	if h.Seen == nil {
		h.Seen = map[string]Seen{}
	}
	if h.Positions == nil {
		h.Positions = map[string]trust.Position{}
	}
	return h, nil
}

// Keep makes durable what has become of hosts, before anybody gets what was signed for them.
func (m *Memory) Keep(members []*member) error {
	for _, one := range members {
		m.hosts[one.ID] = one.memory
	}
	data, err := json.Marshal(m.hosts)
	if err != nil {
		return err
	}
	return atomicfile.Replace(m.path, atomicfile.Options{Mode: 0o600, Durable: true}, atomicfile.Data(data))
}

// note refuses what is older than what the host has signed before, or another of the same number, and notes it.
func (h *HostMemory) note(what string, number uint64, signed *trust.Signed) error {
	next, former := Seen{number, trust.DigestOf(signed.Content)}, h.Seen[what]
	switch {
	case number < former.Number:
		return fmt.Errorf("they have the number %d, and %d was seen before", number, former.Number)
	case number == former.Number && former.Digest != next.Digest && !former.Digest.IsZero():
		return fmt.Errorf("there are two of the number %d that differ", number)
	}
	h.Seen[what] = next
	return nil
}

// checkMissing refuses that there is nothing of what the host has signed before: a site may make something else of a host where others have given nothing.
func (h *HostMemory) checkMissing(what string) error {
	if former := h.Seen[what]; former.Number > 0 {
		return fmt.Errorf("there are none, and those of the number %d were seen before", former.Number)
	}
	return nil
}

// maxStep is how far a position may be beyond the one before: it must not be used up.
const maxStep = 1_000_000

// next gives a position from the one on that a server gives, after all that were signed in this epoch.
func (h *HostMemory) next(site string, from trust.Position) (trust.Position, error) {
	last := h.Positions[site]
	switch {
	case from.Epoch == 0 || from.N == 0 || cmp.Compare(from.N, 1<<62) > 0 || from.Epoch > 1<<62:
		return from, fmt.Errorf("%s", from)
	case from.Epoch < last.Epoch:
		return from, fmt.Errorf("%s is of an older epoch than %s, which was signed before", from, last)
	case from.Epoch == last.Epoch && from.N <= last.N:
		from.N = last.N + 1
	case from.Epoch == last.Epoch && from.N > last.N+maxStep:
		return from, fmt.Errorf("%s is far beyond %s, which was signed before", from, last)
	}
	h.Positions[site] = from
	return from, nil
}
