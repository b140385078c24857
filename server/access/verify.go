package access

import (
	"context"
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/store"
)

// inOne is how many entries are verified in one snapshot, so that none is held for long.
const inOne = 10_000

// Verify walks the chain of the audit, and gives its head. Heads that were kept elsewhere have to
// be in it. The error names the first break.
func Verify(ctx context.Context, s *store.Store, known ...Head) (Head, error) {
	v := verification{known: map[int64]string{}}
	for _, h := range known {
		if other, ok := v.known[h.N]; ok && other != h.Digest {
			return v.last, broken(h.N, "two different ones were kept elsewhere")
		}
		v.known[h.N] = h.Digest
	}
	for {
		n, err := v.some(ctx, s)
		if err != nil {
			return v.last, err
		}
		if n < inOne {
			break
		}
	}
	for _, h := range known {
		if h.N > v.last.N {
			return v.last, broken(v.last.N+1, "it is missing: a later one was kept elsewhere")
		}
	}
	return v.last, nil
}

// verification is what was seen until now.
type verification struct {
	last  Head
	known map[int64]string
}

func (v *verification) some(ctx context.Context, s *store.Store) (n int, err error) {
	return n, s.Read(ctx, func(r store.Reader) error {
		n = 0
		end, err := readHead(r)
		if err != nil {
			return err
		}
		if err := readRecords(r, v.last.N, inOne, func(record Record, detail string) error {
			n++
			return v.next(record, detail)
		}); err != nil {
			return err
		}
		switch {
		case n == inOne || end == v.last:
			return nil
		case end.N > v.last.N:
			return broken(v.last.N+1, "it is missing, and all after it")
		default:
			return broken(v.last.N, "it is not the last one that the server has kept")
		}
	})
}

func (v *verification) next(record Record, detail string) error {
	if record.N != v.last.N+1 {
		return broken(v.last.N+1, "it is missing")
	}
	if record.digest(v.last.Digest, detail) != record.Digest {
		return broken(record.N, "it, or what comes before it, was changed")
	}
	if other, ok := v.known[record.N]; ok && other != record.Digest {
		return broken(record.N, "it is not the one that was kept elsewhere")
	}
	v.last = Head{record.N, record.Digest}
	return nil
}

func broken(n int64, why string) error {
	return &diag.HintError{Code: CodeBroken, Message: fmt.Sprintf("the audit is broken at entry %d: %s", n, why),
		Hint: "compare the store with a backup; tenet audit list shows what stands around the entry"}
}

// ReadHead gives the head of the audit, to be kept elsewhere.
func ReadHead(ctx context.Context, s *store.Store) (h Head, err error) {
	err = s.Read(ctx, func(r store.Reader) (err error) {
		h, err = readHead(r)
		return err
	})
	return h, err
}
