package trust

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func assignment(host ID, sealing string, at Position) *Assignment {
	return &Assignment{Format: AssignmentFormat, Host: host, Site: "shop", Position: at, Revision: "r1", Identity: DigestOf([]byte("run")),
		Bundle: Content{SHA256: DigestOf([]byte("sealed")), Size: 6}, Recipient: sealing, Program: "1.0.0", Until: noon.Add(time.Hour)}
}

func TestOpenAssignment(t *testing.T) {
	o, stranger, identity := newOwner(t), newKey(t), newKey(t)
	host, sealing := identity.ID(), "age1here"
	change := func(how func(*Assignment)) *Assignment {
		a := assignment(host, sealing, Position{2, 5})
		how(a)
		return a
	}
	for name, c := range map[string]struct {
		assignment *Assignment
		pattern    string
	}{
		"next":                 {change(func(a *Assignment) {}), ""},
		"another site's":       {change(func(a *Assignment) { a.Site, a.Position = "other", Position{1, 1} }), ""},
		"an epoch later":       {change(func(a *Assignment) { a.Position = Position{3, 1} }), ""},
		"an absence":           {change(func(a *Assignment) { a.Absent, a.Bundle, a.Recipient = true, Content{}, "" }), ""},
		"held already":         {change(func(a *Assignment) { a.Position = Position{2, 4} }), "does not come after"},
		"older":                {change(func(a *Assignment) { a.Position = Position{2, 3} }), "does not come after"},
		"an epoch before":      {change(func(a *Assignment) { a.Position = Position{1, 99} }), "does not come after"},
		"another host's":       {change(func(a *Assignment) { a.Host = stranger.ID() }), "for the host"},
		"to another key":       {change(func(a *Assignment) { a.Recipient = "age1there" }), "another key"},
		"late":                 {change(func(a *Assignment) { a.Until = noon.Add(-time.Second) }), "until"},
		"without end":          {change(func(a *Assignment) { a.Until = time.Time{} }), "until when"},
		"without site":         {change(func(a *Assignment) { a.Site = "" }), "no site"},
		"without epoch":        {change(func(a *Assignment) { a.Epoch = 0 }), "begin at 1"},
		"without bundle":       {change(func(a *Assignment) { a.Bundle = Content{} }), "no bundle"},
		"absent with a bundle": {change(func(a *Assignment) { a.Absent = true }), "absence"},
		"of a later format":    {change(func(a *Assignment) { a.Format = "tenet.assignment/2" }), "format"},
		"a negative file":      {change(func(a *Assignment) { a.Files = []Content{{Size: -1}} }), "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			held := func(site string) Position {
				if site == "shop" {
					return Position{2, 4}
				}
				return Position{}
			}
			to := Recipient{Host: host, Sealing: sealing, Now: noon}
			chain := o.chain(t)
			got, err := chain.OpenAssignment(signed(t, KindAssignment, c.assignment, o.server), to, held)
			wantError(t, err, c.pattern)
			if err == nil && got.Position != c.assignment.Position {
				t.Errorf("got %v", got)
			}
			for _, by := range []PrivateKey{stranger, o.recovery, identity} {
				_, err := chain.OpenAssignment(signed(t, KindAssignment, c.assignment, by), to, held)
				wantError(t, err, "no key that may assign")
			}
			_, err = (&Chain{}).OpenAssignment(signed(t, KindAssignment, c.assignment, o.server), to, held)
			wantError(t, err, "no trust document")
		})
	}
}

// Where the server's key may no longer assign, since operators sign, nothing that it signs is accepted.
func TestServerThatMayNotAssign(t *testing.T) {
	o, operator := newOwner(t), newKey(t)
	chain := o.chain(t)
	next := o.document(1, 2)
	next.Keys[0].Verbs = []Verb{VerbTrust}
	next.Keys = append(next.Keys, Delegated{Key: operator.Public(), Name: "ada", Verbs: []Verb{VerbAssign}})
	if err := chain.Add(signed(t, KindDocument, next, o.server)); err != nil {
		t.Fatal(err)
	}
	host := newKey(t).ID()
	to := Recipient{Host: host, Sealing: "age1", Now: noon}
	none := func(string) Position { return Position{} }
	a := assignment(host, "age1", Position{1, 1})
	_, err := chain.OpenAssignment(signed(t, KindAssignment, a, o.server), to, none)
	wantError(t, err, "no key that may assign")
	_, err = chain.OpenAssignment(signed(t, KindAssignment, a, operator), to, none)
	wantError(t, err, "")
}

// In whatever order assignments come, and however often, a host takes up ever later ones alone.
func TestPositionsGrow(t *testing.T) {
	o := newOwner(t)
	chain, host := o.chain(t), newKey(t).ID()
	to := Recipient{Host: host, Sealing: "age1", Now: noon}
	rapid.Check(t, func(t *rapid.T) {
		held := map[string]Position{}
		for range rapid.IntRange(1, 20).Draw(t, "messages") {
			a := assignment(host, "age1", Position{rapid.Uint64Range(1, 3).Draw(t, "epoch"), rapid.Uint64Range(1, 4).Draw(t, "n")})
			a.Site = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "site")
			s, err := Sign(KindAssignment, a, o.server)
			if err != nil {
				t.Fatal(err)
			}
			later := a.Epoch > held[a.Site].Epoch || a.Epoch == held[a.Site].Epoch && a.N > held[a.Site].N
			_, err = chain.OpenAssignment(s, to, func(site string) Position { return held[site] })
			if (err == nil) != later {
				t.Fatalf("%s of %s, held %s: %v", a.Position, a.Site, held[a.Site], err)
			}
			if err == nil {
				held[a.Site] = a.Position
			}
		}
	})
}
