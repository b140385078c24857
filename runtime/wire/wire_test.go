package wire_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Frames arrive as they were sent, and one that is cut is no end.
func TestFrames(t *testing.T) {
	var line bytes.Buffer
	c := wire.New(&line, &line, nil)
	large := strings.Repeat("x", 3<<20)
	for _, data := range []string{"", "{}", large} {
		if err := c.Write(wire.KindStdout, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	all := line.String()
	for _, data := range []string{"", "{}", large} {
		f, err := c.Receive()
		if err != nil || f.Kind != wire.KindStdout || string(f.Data) != data {
			t.Fatalf("%c %d bytes, %v", f.Kind, len(f.Data), err)
		}
	}
	if _, err := c.Receive(); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
	for _, cut := range []int{1, 4, 6, 11, 15, len(all) - 1} {
		c := wire.New(strings.NewReader(all[:cut]), io.Discard, nil)
		var err error
		for err == nil {
			_, err = c.Receive()
		}
		if err != io.ErrUnexpectedEOF {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

// Who says that much is to come gets neither memory nor time for it.
func TestHugeFrames(t *testing.T) {
	_, err := wire.New(strings.NewReader("\x01\x00\x00\x01H"), io.Discard, nil).Receive()
	if wrong := (*wire.ProtocolError)(nil); !errors.As(err, &wrong) {
		t.Errorf("more than %d bytes: %v", wire.MaxFrame, err)
	}
	if err := wire.New(nil, io.Discard, nil).Write(wire.KindData, make([]byte, wire.MaxFrame+1)); err == nil {
		t.Error("a frame is sent that nobody takes")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		if _, err := wire.New(strings.NewReader("\x01\x00\x00\x00H{"), io.Discard, nil).Receive(); err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
		t.Errorf("it took %d MiB", took>>20)
	}
}

// What is due is told from what comes instead, and why.
func TestExpect(t *testing.T) {
	for _, test := range []struct {
		kind wire.Kind
		data any
		want string
	}{
		{wire.KindHello, wire.Hello{}, ""},
		{wire.KindHello, "x", "cannot be read"},
		{wire.KindEvent, states.Event{}, "came where"},
		{wire.KindEnd, wire.End{}, "came where"},
		{wire.KindEnd, wire.End{Failure: &states.Failure{Message: "no room"}}, "no room"},
	} {
		var line bytes.Buffer
		c := wire.New(&line, &line, nil)
		if err := c.Send(test.kind, test.data); err != nil {
			t.Fatal(err)
		}
		err := c.Expect(wire.KindHello, &wire.Hello{})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%c %v: %v, want %q", test.kind, test.data, err, test.want)
		}
	}
}
