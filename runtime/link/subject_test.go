package link

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/trust"
	"pgregory.net/rapid"
)

func host(t testing.TB) trust.ID {
	t.Helper()
	key, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key.ID()
}

func TestSubjectsAreReadAsWritten(t *testing.T) {
	id := host(t)
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`)
		a := Address{Host: id, Instance: word.Draw(t, "instance")}
		session := rapid.OneOf(rapid.Just(""), word).Draw(t, "session")
		for _, d := range []Direction{Up, Down} {
			got, gotSession, err := ParseSubject(d, Subject(d, a, session))
			if err != nil || got != a || gotSession != session {
				t.Fatalf("%s: %v %q %v", d, got, gotSession, err)
			}
		}
		if got, err := ParseAddress(a.String()); err != nil || got != a {
			t.Fatalf("%v %v", got, err)
		}
	})
}

func TestForgedSubjectsAreRefused(t *testing.T) {
	id := string(host(t))
	for _, subject := range []string{
		"", ".", "tenet.up", "tenet.up.", "tenet.up." + id, "tenet.up." + id + ".i", "tenet.up." + id + ".i.", "tenet.up." + id + ".i.d",
		"tenet.up." + id + ".i.c.", "tenet.up." + id + ".i.c.x", "tenet.up." + id + ".i.s", "tenet.up." + id + ".i.s.", "tenet.up." + id + ".i.s.x.y",
		"tenet.up." + id + "..c", "tenet.up.*.i.c", "tenet.up." + id + ".*.c", "tenet.up." + id + ".>.c", "tenet.up." + id + ".i.s.*", "tenet.up." + id + ".i.s.>",
		"tenet.up." + strings.ToUpper(id) + ".i.c", "tenet.up." + id[1:] + ".i.c", "tenet.up." + id + "a.i.c", "tenet.up." + id[:len(id)-1] + "b.i.c",
		"tenet.down." + id + ".i.c", "tenet.up." + id + ".i\n.c", "tenet.up." + id + ".é.c", "tenet.up." + id + "." + strings.Repeat("i", 65) + ".c",
		"xtenet.up." + id + ".i.c", "$SYS.REQ.SERVER.PING",
	} {
		if a, session, err := ParseSubject(Up, subject); err == nil || a != (Address{}) || session != "" {
			t.Errorf("%q: %v %q %v", subject, a, session, err)
		}
	}
}

func FuzzParseSubject(f *testing.F) {
	f.Add("tenet.up." + string(host(f)) + ".i.s.x")
	f.Add("tenet.up.*.>")
	f.Fuzz(func(t *testing.T, subject string) {
		a, session, err := ParseSubject(Up, subject)
		if err == nil && Subject(Up, a, session) != subject {
			t.Errorf("%q is taken for %q", subject, Subject(Up, a, session))
		}
	})
}

func TestPacketsAreChecked(t *testing.T) {
	for _, p := range []Packet{{Data: make([]byte, MaxPacket+1)}, {Session: "a.b"}, {Session: "*"}, {Session: strings.Repeat("s", 65)}} {
		if p.Check() == nil {
			t.Errorf("%q with %d bytes is accepted", p.Session, len(p.Data))
		}
	}
	if err := (Packet{Session: "s-1_A", Data: make([]byte, MaxPacket)}).Check(); err != nil {
		t.Error(err)
	}
}
