package link

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func pieces(t testing.TB, s Splitter, id uint64, data []byte) []Frame {
	t.Helper()
	var out []Frame
	for i, raw := range s.Pieces(id, data) {
		if len(raw) > s.size() {
			t.Fatalf("piece %d has %d bytes of %d", i, len(raw), s.size())
		}
		f, err := ParseFrame(raw)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

func TestPacketsAreJoinedAsTheyWereSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Splitter{Size: rapid.IntRange(minFrameSize, 4*minFrameSize).Draw(t, "size")}
		data := bytes.Repeat([]byte{1, 2, 3, 5, 8, 13, 21}, rapid.IntRange(0, 3000).Draw(t, "sevenths"))
		if s.Fits(data) {
			f, err := ParseFrame(s.Frame(data))
			whole, ok := f.Whole()
			if err != nil || !ok || !bytes.Equal(whole, data) || len(s.Frame(data)) > s.Size {
				t.Fatalf("%v %v", ok, err)
			}
			return
		}
		var j Joiner
		frames := 0
		for i, raw := range s.Pieces(7, data) {
			f, err := ParseFrame(raw)
			if err != nil || len(raw) > s.Size {
				t.Fatal(err)
			}
			packet, ack := j.Add("s", f)
			acked, err := ParseFrame(ack)
			if got, ok := acked.Ack(); err != nil || !ok || got != (Ack{ID: 7, Index: i}) {
				t.Fatalf("acknowledged: %v %v", got, err)
			}
			frames++
			if isLast := frames == int(f.count); isLast != (packet != nil) || isLast && !bytes.Equal(packet, data) {
				t.Fatalf("piece %d of %d gives %d bytes", i, f.count, len(packet))
			}
		}
		if j.Held() != 0 {
			t.Error("something is kept of a packet that was joined")
		}
	})
}

// Whatever is lost, doubled, mixed or swapped on the way: each packet that comes out is one that was sent.
func TestWhatComesOutWasSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Splitter{Size: minFrameSize}
		sent := [][]byte{bytes.Repeat([]byte{1}, 5000), bytes.Repeat([]byte{2}, 3000), bytes.Repeat([]byte{3}, 1024)}
		var frames []Frame
		for id, data := range sent {
			for _, raw := range s.Pieces(uint64(id), data) {
				f, err := ParseFrame(raw)
				if err != nil {
					t.Fatal(err)
				}
				frames = append(frames, f)
			}
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var arrive []Frame
		for _, f := range frames {
			for range rapid.SampledFrom([]int{1, 1, 1, 1, 0, 2}).Draw(t, "times") {
				arrive = append(arrive, f)
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "swaps") {
			a, b := rng.IntN(len(arrive)+1), rng.IntN(len(arrive)+1)
			if a < len(arrive) && b < len(arrive) {
				arrive[a], arrive[b] = arrive[b], arrive[a]
			}
		}
		var j Joiner
		for _, f := range arrive {
			packet, _ := j.Add([]string{"", "other"}[rng.IntN(40)/39], f)
			if packet != nil && !bytes.Equal(packet, sent[f.id]) {
				t.Fatalf("%d bytes come out for packet %d", len(packet), f.id)
			}
		}
	})
}

func TestAPieceThatIsMissingDropsThePacketAlone(t *testing.T) {
	s := Splitter{Size: minFrameSize}
	data := bytes.Repeat([]byte("x"), 5000)
	var j Joiner
	for i, f := range pieces(t, s, 1, data) {
		if i == 2 {
			continue
		}
		if packet, ack := j.Add("", f); packet != nil || i > 2 && ack != nil {
			t.Fatalf("piece %d is taken", i)
		}
	}
	if j.Held() != 0 {
		t.Errorf("%d bytes are kept", j.Held())
	}
	var packet []byte
	for _, f := range pieces(t, s, 2, data) {
		packet, _ = j.Add("", f)
	}
	if !bytes.Equal(packet, data) {
		t.Error("the next packet is not whole")
	}
}

// A sender that goes on and on fills no more than a packet's memory.
func TestHostilePiecesAreBounded(t *testing.T) {
	var j Joiner
	most := 0
	for i := range maxPieces {
		_, _ = j.Add("", Frame{kind: pieceFrame, id: 1, index: uint32(i), count: maxPieces, data: make([]byte, 64<<10)})
		most = max(most, j.Held())
	}
	if most > 3*MaxPacket/2 || j.Held() != 0 {
		t.Errorf("%d bytes were kept, and %d are", most, j.Held())
	}
	_, _ = j.Add("", Frame{kind: pieceFrame, index: 0, count: maxPieces, data: []byte{1}})
	if j.Held() > 64 {
		t.Errorf("%d bytes are kept for what has not come", j.Held())
	}
	for _, raw := range [][]byte{{}, {1}, {2}, {3}, {255, 1}, append([]byte{1}, make([]byte, 16)...), append([]byte{1}, make([]byte, 17)...),
		{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 5, 1}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0, 1}} {
		if _, err := ParseFrame(raw); err == nil {
			t.Errorf("%v is a frame", raw)
		}
	}
	if (Splitter{Size: 100}).Check() == nil {
		t.Error("a broker that takes 100 bytes is enough")
	}
}

func FuzzJoiner(f *testing.F) {
	for _, raw := range (Splitter{Size: minFrameSize}).Pieces(1, make([]byte, 3000)) {
		f.Add(raw, raw)
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		var j Joiner
		for _, raw := range [][]byte{one, two, one, two} {
			frame, err := ParseFrame(raw)
			if err != nil {
				continue
			}
			packet, ack := j.Add("", frame)
			if packet != nil && ack == nil || j.Held() > 2*(len(one)+len(two))+64 || len(packet) > len(one)+len(two) {
				t.Errorf("%d bytes come out, %d are kept", len(packet), j.Held())
			}
		}
	})
}
