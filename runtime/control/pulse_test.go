package control

import (
	"testing"
	"time"
)

// Signs of life of agents that have connected at the same time spread, and none comes later than a Heartbeat.
func TestPulsesSpread(t *testing.T) {
	p := newPair(t)
	p.agent.Jitter = func(limit time.Duration) time.Duration { return limit - 1 }
	p.open()
	if out := p.agent.Tick(Heartbeat - maxJitter); len(out.Send) > 0 {
		t.Errorf("%T comes too early", out.Send[0])
	}
	if out := p.agent.Tick(Heartbeat - maxJitter + 1); len(out.Send) != 1 {
		t.Error("there is no sign of life")
	}
	p.agent.Jitter = nil
	p.open()
	if out := p.agent.Tick(Heartbeat); len(out.Send) != 1 {
		t.Error("without jitter there is none")
	}
}

// What a server says in a version that the agent does not speak has no effect, and the agent asks again.
func TestAnswerOfAnotherVersion(t *testing.T) {
	for _, version := range []int{0, Version - 1, Version + 1} {
		p := newPair(t)
		p.assign()
		answer := p.answer(p.hello(p.agent.Connect(0)))
		answer.Version = version
		out := p.agent.Receive(0, answer)
		if len(out.Refused) != 1 || len(out.Keep)+len(out.Adopt)+len(out.Send)+len(out.Documents) > 0 || len(p.agent.Held) > 0 {
			t.Errorf("version %d: %+v", version, out)
		}
		p.hello(p.agent.Tick(Patience))
		p.open()
		if len(p.agent.Held) != 1 {
			t.Error("then a server that speaks its version is not heard")
		}
	}
}

// Neither side goes back to a version of the protocol that comes before what they have spoken. A program that is tried has spoken nothing.
func TestFormerVersion(t *testing.T) {
	p := newPair(t)
	p.agent.Trial = true
	p.agent.Receive(0, p.answer(p.hello(p.agent.Connect(0))))
	if p.agent.Spoken != 0 || p.row.Spoken != 0 {
		t.Errorf("by a trial the agent has spoken %d, the server %d", p.agent.Spoken, p.row.Spoken)
	}
	p.agent.Trial = false
	if out := p.agent.Receive(0, p.answer(p.hello(p.agent.Connect(0)))); out.Spoken != Version || p.row.Spoken != Version {
		t.Errorf("the agent keeps %d, the server %d", out.Spoken, p.row.Spoken)
	}
	if out := p.agent.Receive(0, p.answer(p.hello(p.agent.Connect(0)))); out.Spoken != 0 || len(out.Refused) > 0 {
		t.Errorf("the next time it keeps %d, and refuses %v", out.Spoken, out.Refused)
	}

	p.assign()
	p.agent.Spoken = Version + 1
	out := p.agent.Receive(0, p.answer(p.hello(p.agent.Connect(0))))
	if len(out.Refused) != 1 || len(out.Keep) > 0 || out.Spoken != 0 || p.agent.Spoken != Version+1 {
		t.Errorf("the agent takes it: %+v", out)
	}
	p.row.Spoken = Version + 1
	before := p.row.Session
	if r, ok := p.server.Hello(p.row, p.hello(p.agent.Connect(0))).(*Refusal); !ok || r.Why == "" || p.row.Session != before || p.row.Spoken != Version+1 {
		t.Error("the server takes it")
	}
}

// A host is woken until the server has seen what it holds and the server does not know, should it be lost on its way.
func TestLostShown(t *testing.T) {
	p := newPair(t)
	p.assign()
	p.open()
	p.row.Targets = map[string]Target{} // the database was put back
	a := p.answer(p.hello(p.agent.Connect(0)))
	shown, ok := p.agent.Receive(0, a).Send[0].(*Shown)
	if len(a.Unknown) != 1 || !ok {
		t.Fatalf("the answer asks for %v, and %v is shown", a.Unknown, shown)
	}
	pulse := func() Message {
		return p.server.Pulse(p.row, &Pulse{Session: p.row.Session, Term: p.server.Term})
	}
	if _, ok := pulse().(*Wake); !ok {
		t.Error("what was lost is not asked for again")
	}
	p.server.Shown(p.row, shown)
	if !p.server.Recovering || pulse() != nil {
		t.Errorf("recovering: %v; still asked for: %v", p.server.Recovering, pulse())
	}
}
