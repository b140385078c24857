package trust

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestChain(t *testing.T) {
	o, second := newOwner(t), newOwner(t)
	change := func(d *Document, how func(*Document)) *Document { how(d); return d }
	handed := func(generation, number uint64) *Document { // the keys are second's, the recovery key is not
		return change(second.document(generation, number), func(d *Document) { d.Recovery = o.recovery.Public() })
	}
	first := signed(t, KindDocument, o.document(1, 1), o.recovery, o.server)
	for name, c := range map[string]struct {
		before  []*Signed
		next    *Document
		by      []PrivateKey
		pattern string
	}{
		"first":                         {nil, o.document(1, 1), []PrivateKey{o.recovery, o.server}, ""},
		"first without recovery":        {nil, o.document(1, 1), []PrivateKey{o.server}, "signed by the recovery key"},
		"first without its key":         {nil, o.document(1, 1), []PrivateKey{o.recovery}, "document after it"},
		"first is number 2":             {nil, o.document(1, 2), []PrivateKey{o.recovery, o.server}, "1 comes next"},
		"next":                          {[]*Signed{first}, o.document(1, 2), []PrivateKey{o.server}, ""},
		"next, of other keys":           {[]*Signed{first}, handed(1, 2), []PrivateKey{o.server, second.server}, ""},
		"next, of keys that are absent": {[]*Signed{first}, handed(1, 2), []PrivateKey{o.server}, "document after it"},
		"next, by a stranger":           {[]*Signed{first}, handed(1, 2), []PrivateKey{second.server}, "number 1.1 names"},
		"next, by recovery alone":       {[]*Signed{first}, o.document(1, 2), []PrivateKey{o.recovery}, "document after it"},
		"next, of another recovery":     {[]*Signed{first}, second.document(1, 2), []PrivateKey{o.server, second.server, o.recovery, second.recovery}, "recovery key"},
		"gap":                           {[]*Signed{first}, o.document(1, 3), []PrivateKey{o.server}, "2 comes next"},
		"again, another":                {[]*Signed{first}, handed(1, 1), []PrivateKey{o.server, second.server, o.recovery}, "two of number"},
		"older": {[]*Signed{first, signed(t, KindDocument, o.document(1, 2), o.server)}, change(o.document(1, 1), func(d *Document) { d.Issued = noon.Add(1) }),
			[]PrivateKey{o.recovery, o.server}, "older"},
		"a generation before":           {[]*Signed{first, signed(t, KindDocument, o.document(2, 1), o.recovery, o.server)}, o.document(1, 2), []PrivateKey{o.recovery, o.server}, "older"},
		"generation":                    {[]*Signed{first}, handed(2, 1), []PrivateKey{o.recovery, second.server}, ""},
		"generation, far":               {[]*Signed{first}, handed(9, 1), []PrivateKey{o.recovery, second.server}, ""},
		"generation by the server":      {[]*Signed{first}, o.document(2, 1), []PrivateKey{o.server}, "signed by the recovery key"},
		"generation, number 2":          {[]*Signed{first}, o.document(2, 2), []PrivateKey{o.recovery, o.server}, "1 comes next"},
		"generation, another recovery":  {[]*Signed{first}, second.document(2, 1), []PrivateKey{o.recovery, second.recovery, second.server}, ""},
		"generation, absent recovery":   {[]*Signed{first}, second.document(2, 1), []PrivateKey{o.recovery, second.server}, "signed by the recovery key"},
		"generation, foreign recovery":  {[]*Signed{first}, second.document(2, 1), []PrivateKey{second.recovery, second.server}, "signed by the recovery key"},
		"nobody may sign the next":      {[]*Signed{first}, change(o.document(1, 2), func(d *Document) { d.Keys[0].Verbs = []Verb{VerbAssign} }), []PrivateKey{o.server}, "sign the next"},
		"a key twice":                   {[]*Signed{first}, change(o.document(1, 2), func(d *Document) { d.Keys = append(d.Keys, d.Keys[0]) }), []PrivateKey{o.server}, "twice"},
		"the recovery key signs others": {[]*Signed{first}, change(o.document(1, 2), func(d *Document) { d.Keys[0].Key = o.recovery.Public() }), []PrivateKey{o.server, o.recovery}, "signs nothing else"},
		"a key without verbs":           {[]*Signed{first}, change(o.document(1, 2), func(d *Document) { d.Keys[0].Verbs = nil }), []PrivateKey{o.server}, "nothing"},
		"a key without name":            {[]*Signed{first}, change(o.document(1, 2), func(d *Document) { d.Keys[0].Name = "" }), []PrivateKey{o.server}, "name"},
		"a name that cannot be printed": {[]*Signed{first}, change(o.document(1, 2), func(d *Document) { d.Keys[0].Name = "\x1b[31m" }), []PrivateKey{o.server}, "printed"},
		"no recovery key":               {[]*Signed{first}, change(o.document(1, 2), func(d *Document) { d.Recovery = PublicKey{} }), []PrivateKey{o.server}, "recovery"},
		"number 0":                      {[]*Signed{first}, o.document(1, 0), []PrivateKey{o.server}, "begin at 1"},
		"a CA":                          {[]*Signed{first}, change(o.document(1, 2), func(d *Document) { d.Authorities = [][]byte{certificate(t, true)} }), []PrivateKey{o.server}, ""},
		"no CA":                         {[]*Signed{first}, change(o.document(1, 2), func(d *Document) { d.Authorities = [][]byte{certificate(t, false)} }), []PrivateKey{o.server}, "none of a CA"},
	} {
		t.Run(name, func(t *testing.T) {
			chain, err := ParseChain(c.before)
			if err != nil {
				t.Fatal(err)
			}
			s := signed(t, KindDocument, c.next, c.by...)
			wantError(t, chain.Add(s), c.pattern)
			want := len(c.before)
			if c.pattern == "" {
				want++
				wantError(t, chain.Add(s), "") // the newest again
			}
			if len(chain.Signed()) != want {
				t.Errorf("the chain has %d documents, want %d", len(chain.Signed()), want)
			}
		})
	}
}

func TestGapNamesWhatIsMissing(t *testing.T) {
	o := newOwner(t)
	err := o.chain(t).Add(signed(t, KindDocument, o.document(1, 7), o.server))
	gap, ok := errors.AsType[*GapError](err)
	if !ok || *gap != (GapError{Generation: 1, Next: 2, Got: 7}) {
		t.Errorf("%v", err)
	}
}

// Whatever a thief of the server's key signs, who has the recovery key takes everything back with one document, and from then on
// nothing of the thief's is accepted.
func TestOwnerRecovers(t *testing.T) {
	o, thief, fresh := newOwner(t), newOwner(t), newOwner(t)
	rapid.Check(t, func(t *rapid.T) {
		chain := &Chain{}
		if err := chain.Add(mustSign(t, o.document(1, 1), o.recovery, o.server)); err != nil {
			t.Fatal(err)
		}
		stolen := []PrivateKey{o.server, thief.server, thief.recovery}
		attack := func() {
			d := thief.document(rapid.Uint64Range(1, 4).Draw(t, "generation"), rapid.Uint64Range(1, 6).Draw(t, "number"))
			d.Recovery = rapid.SampledFrom([]PublicKey{o.recovery.Public(), thief.recovery.Public()}).Draw(t, "recovery")
			if rapid.Bool().Draw(t, "stolen keys") {
				d.Keys = o.document(1, 1).Keys
			}
			chain.Add(mustSign(t, d, rapid.SliceOfNDistinct(rapid.SampledFrom(stolen), 1, 3, PrivateKey.ID).Draw(t, "signers")...))
			if chain.Newest().Recovery != o.recovery.Public() {
				t.Fatal("the recovery key is the thief's")
			}
		}
		for range rapid.IntRange(0, 8).Draw(t, "before") {
			attack()
		}
		back := fresh.document(chain.Newest().Generation+1, 1)
		back.Recovery = o.recovery.Public()
		if err := chain.Add(mustSign(t, back, o.recovery, fresh.server)); err != nil {
			t.Fatalf("the owner cannot take it back: %v", err)
		}
		had := len(chain.Signed())
		for range rapid.IntRange(0, 8).Draw(t, "after") {
			attack()
		}
		if len(chain.Signed()) != had {
			t.Fatal("the thief's document is accepted after the recovery")
		}
		if again, err := ParseChain(chain.Signed()); err != nil || again.Newest().Generation != chain.Newest().Generation {
			t.Fatalf("what was kept is not accepted: %v", err)
		}
	})
}

func mustSign(t *rapid.T, d *Document, keys ...PrivateKey) *Signed {
	s, err := Sign(KindDocument, d, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
