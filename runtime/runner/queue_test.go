package runner

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/wire"
)

// Who runs free of its connection is never kept waiting by it, and what waits is bounded.
func TestQueueThatRunsFree(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe() // nobody reads
	defer in.Close()
	q := newQueue(wire.New(strings.NewReader(""), out, nil))
	q.letGo()
	piece := make([]byte, 1<<20)
	for range 2 * maxQueue / len(piece) {
		q.write(wire.KindEvent, piece)
	}
	q.mu.Lock()
	size, err := q.size, q.err
	q.mu.Unlock()
	if !errors.Is(err, errSlow) || size != 0 {
		t.Errorf("%d bytes wait, %v", size, err)
	}
	in.Close()
	if err := q.close(t.Context()); !errors.Is(err, errSlow) {
		t.Errorf("closed: %v", err)
	}
}

// What is too large for a frame is refused, and the queue goes on.
func TestQueueTooLarge(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	q := newQueue(wire.New(strings.NewReader(""), out, nil))
	if err := q.json(wire.KindData, strings.Repeat("x", wire.MaxFrame)); err == nil {
		t.Error("it was taken")
	}
	if err := q.json(wire.KindData, "small"); err != nil {
		t.Error(err)
	}
	var text string
	if err := wire.New(in, io.Discard, nil).Expect(wire.KindData, &text); err != nil || text != "small" {
		t.Errorf("%q, %v", text, err)
	}
	if err := q.close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A value that is larger than a frame goes in pieces, and is whole.
func TestQueueValueInPieces(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	q := newQueue(wire.New(strings.NewReader(""), out, nil))
	want := strings.Repeat("0123456789abcdef", 2*wire.MaxFrame/16) + "end"
	sent := make(chan error, 1)
	go func() { sent <- q.value(want) }()
	c := wire.New(in, io.Discard, nil)
	var data []byte
	kinds := ""
	for !strings.HasSuffix(kinds, string(rune(wire.KindData))) {
		f, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		data, kinds = append(data, f.Data...), kinds+string(rune(f.Kind))
	}
	var got string
	if err := errors.Join(<-sent, json.Unmarshal(data, &got)); err != nil || got != want || kinds != "PPD" {
		t.Errorf("%q bring %d bytes of %d: %v", kinds, len(got), len(want), err)
	}
	if err := q.close(t.Context()); err != nil {
		t.Error(err)
	}
}
