package host

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// keeper is about hosts that can tell cheaply whether files are still as they were,
// and so remember what was made of them.
type keeper interface {
	keep(key string, paths []string, make func() (any, error)) (any, error)
}

// Cached gives what make makes of the files at the paths (directories with all below
// them): what it made before under the same key, if none of them has changed since.
// So a large file that many parts look into is read once in a run. A host that
// cannot tell calls make each time. What it gives is shared, and must not be
// changed. The key tells what is made; one key is of one type.
func Cached[T any](h Reader, key string, paths []string, make func() (T, error)) (T, error) {
	k, ok := h.(keeper)
	if !ok {
		return make()
	}
	v, err := k.keep(key, paths, func() (any, error) { return make() })
	if err != nil {
		var none T
		return none, err
	}
	return v.(T), nil
}

// keptLimit is how many things a host remembers. A run keeps a few; one that goes
// on for months must not gather what nobody asks for any more.
const keptLimit = 64

// answerCache is what a Local remembers, by key.
type answerCache struct {
	mu     sync.Mutex
	things map[string]*cachedAnswer
}

type cachedAnswer struct {
	mu    sync.Mutex // held while it is made, so that it is made once
	stamp string     // of the paths; empty: nothing is kept
	value any
}

func (k *answerCache) get(key string) *cachedAnswer {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.things[key]
	if t == nil {
		if len(k.things) >= keptLimit || k.things == nil {
			k.things = map[string]*cachedAnswer{}
		}
		t = &cachedAnswer{}
		k.things[key] = t
	}
	return t
}

func (l *Local) keep(key string, paths []string, make func() (any, error)) (any, error) {
	t := l.cache.get(key)
	t.mu.Lock()
	defer t.mu.Unlock()
	stamp, ok := l.stampOf(paths)
	if ok && t.stamp == stamp {
		return t.value, nil
	}
	value, err := make()
	t.stamp, t.value = "", nil
	if ok && err == nil {
		t.stamp, t.value = stamp, value
	}
	return value, err
}

// justNow is how young a change may be for another one to leave the same time of
// change: the kernel's clock ticks.
const justNow = 50 * time.Millisecond

// stampOf gives what changes whenever one of the paths does: kind, device, inode,
// size and times of each file. It is not ok where something has changed just now,
// so that a further change might not show, or cannot be looked at.
func (l *Local) stampOf(paths []string) (stamp string, ok bool) {
	s := stamper{local: l, ok: true, young: time.Now().Add(-justNow).UnixNano()}
	for _, p := range paths {
		s.add(p, true)
	}
	return string(s.stamp), s.ok
}

type stamper struct {
	local *Local
	stamp []byte
	young int64
	ok    bool
	depth int // of directories
}

func (s *stamper) add(path string, follow bool) {
	var st unix.Stat_t
	switch err := s.local.stat(path, follow, &st); {
	case err == unix.ENOENT:
		s.stamp = append(s.stamp, 0)
		return
	case err != nil:
		s.ok = false
		return
	}
	for _, n := range [...]int64{int64(st.Mode), int64(st.Dev), int64(st.Ino), st.Size, st.Mtim.Nano(), st.Ctim.Nano()} {
		s.stamp = binary.LittleEndian.AppendUint64(s.stamp, uint64(n))
	}
	if st.Ctim.Nano() > s.young {
		s.ok = false
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		s.add(path, true) // a file elsewhere counts as if it stood here
		return
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || follow && s.depth > 0 {
		return
	}
	s.depth++
	defer func() { s.depth-- }()
	entries, err := s.local.ReadDir(path)
	if err != nil {
		s.ok = false
	}
	for _, e := range entries {
		s.stamp = append(append(s.stamp, e.Name...), 0)
		s.add(joinPath(path, e.Name), false)
	}
}

func (s *Shadow) keep(key string, paths []string, make func() (any, error)) (any, error) {
	s.trace.lookBelow(paths...)
	ok := true
	for _, p := range paths {
		ok = ok && !s.changed(p)
	}
	if !ok {
		return make()
	}
	return s.host.keep(key, paths, make)
}

// errNotKept says that a program failed: another time it may not.
var errNotKept = errors.New("not kept")

// keptQuery is a Query whose answer holds until something below its Reads changes.
func (l *Local) keptQuery(ctx context.Context, q Query) (Result, error) {
	var failed Result
	key := strings.Join(append(append([]string{"query", q.User, q.Dir, string(q.Stdin)}, q.Env...), q.Argv...), "\x00")
	v, err := l.keep(key, q.Reads, func() (any, error) {
		r, err := l.Run(ctx, q.Command)
		if err == nil && r.ExitCode != 0 {
			failed, err = r, errNotKept
		}
		return r, err
	})
	if err == errNotKept {
		return failed, nil
	}
	if err != nil {
		return Result{}, err
	}
	return v.(Result), nil
}
