package server

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
)

// The head of the audit is kept elsewhere as soon as the server runs, and shows that nothing before it was changed.
func TestHeadsAreKept(t *testing.T) {
	c := config(t.TempDir())
	c.AuditHeads = filepath.Join(t.TempDir(), "heads")
	s := start(t, c)
	must(t, err2(s.People.MakeFirst(t.Context(), filepath.Join(t.TempDir(), "password"))))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	fault.Go(func() {
		defer close(done)
		s.maintain(ctx)
	})
	var head access.Head
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(c.AuditHeads); err == nil && json.Unmarshal(text, &head) == nil && head.N > 0 {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("no head is kept")
		}
	}
	cancel()
	<-done
	must(t, err2(access.Verify(t.Context(), s.Store, head)))
	head.Digest = strings.Repeat("0", len(head.Digest))
	if _, err := access.Verify(t.Context(), s.Store, head); code(err) != access.CodeBroken {
		t.Errorf("another head: %v", err)
	}
}

// Contents that something names stay, however old, and others go, but for young ones. Where it is not known what is named, all stay.
func TestSweep(t *testing.T) {
	c, err := contents.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	digests := map[string]contents.Digest{}
	for _, text := range []string{"used", "unused"} {
		digests[text] = contents.Sum([]byte(text))
		if err := c.Put(t.Context(), digests[text], strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	there := func() (n int) {
		if err := c.List(t.Context(), func(contents.Info) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	used := func(context.Context) (map[contents.Digest]bool, error) {
		return map[contents.Digest]bool{digests["used"]: true}, nil
	}
	unknown := errors.New("it is not known")
	if err := sweep(t.Context(), c, used, time.Now().Add(-time.Hour)); err != nil || there() != 2 {
		t.Errorf("%d young ones are there: %v", there(), err)
	}
	if err := sweep(t.Context(), c, func(context.Context) (map[contents.Digest]bool, error) { return nil, unknown }, time.Now().Add(time.Hour)); !errors.Is(err, unknown) || there() != 2 {
		t.Errorf("%d are there: %v", there(), err)
	}
	again := func(context.Context) (map[contents.Digest]bool, error) { // who puts it now is about to name it
		return nil, errors.Join(c.Put(t.Context(), digests["used"], nil), c.Put(t.Context(), digests["unused"], nil))
	}
	if err := sweep(t.Context(), c, again, time.Now()); err != nil || there() != 2 {
		t.Errorf("%d are there of those that were put again: %v", there(), err)
	}
	if err := sweep(t.Context(), c, used, time.Now().Add(time.Hour)); err != nil || there() != 1 {
		t.Errorf("%d are there: %v", there(), err)
	}
	in, _, err := c.Open(t.Context(), digests["used"], 0)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
}
