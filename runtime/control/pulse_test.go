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
