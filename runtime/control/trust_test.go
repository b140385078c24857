package control

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/trust"
)

// follow gives the chain of a server a document that lets these keys sign.
func (p *pair) follow(keys ...trust.Delegated) {
	p.Helper()
	next := *p.server.Chain.Newest()
	next.Number++
	next.Keys = append([]trust.Delegated{next.Keys[0]}, keys...)
	signed, err := trust.Sign(trust.KindDocument, &next, p.owner)
	if err != nil {
		p.Fatal(err)
	}
	chain := p.server.Chain.Clone()
	if err := chain.Add(signed); err != nil {
		p.Fatal(err)
	}
	p.server.Chain = chain
}

// An agent that is connected learns of a trust document by its next sign of life, and tells that it has it.
func TestPulseOfFormerTrust(t *testing.T) {
	p := newPair(t)
	p.open()
	pulse := func() Message {
		return p.server.Pulse(p.row, p.agent.Tick(p.agent.pulse + Heartbeat).Send[0].(*Pulse))
	}
	if m := pulse(); m != nil {
		t.Fatalf("nothing is new, and it is answered by %T", m)
	}
	former := p.agent.Chain
	p.follow()
	p.follow()
	wake := pulse()
	if wake == nil {
		t.Fatal("it is not woken")
	}
	out := p.agent.Receive(0, p.answer(p.hello(p.agent.Receive(0, wake))))
	if len(out.Documents) != 2 || p.agent.Chain.Newest().Number != 3 || former.Newest().Number != 1 {
		t.Fatalf("it has document %d; who read the former chain has %d", p.agent.Chain.Newest().Number, former.Newest().Number)
	}
	p.agent.Receive(0, p.answer(p.hello(out)))
	if m := pulse(); m != nil || p.row.Trust.Number != 3 {
		t.Errorf("it is answered by %T, and the server knows that it has %+v", m, p.row.Trust)
	}
}

// What a renewal has brought counts at once, and the server is told. What comes again later, with more, is passed over.
func TestTrustOfARenewal(t *testing.T) {
	p := newPair(t)
	p.open()
	p.follow()
	p.follow()
	late := p.answer(p.hello(p.agent.Connect(0)))
	renewed := p.server.Chain.Clone()
	p.follow()
	hello := p.hello(p.agent.Trust(0, renewed))
	if hello.Trust.Number != 3 || p.agent.Chain.Newest().Number != 3 {
		t.Fatalf("it trusts %d, and tells %d", p.agent.Chain.Newest().Number, hello.Trust.Number)
	}
	answer := p.answer(hello)
	answer.Documents = append(late.Documents, answer.Documents...)
	if out := p.agent.Receive(0, answer); len(out.Refused) > 0 || len(out.Documents) != 1 || p.agent.Chain.Newest().Number != 4 {
		t.Errorf("%+v, and it trusts %d", out, p.agent.Chain.Newest().Number)
	}
	if out := p.agent.Trust(0, renewed); len(out.Send) > 0 || p.agent.Chain.Newest().Number != 4 {
		t.Error("it goes back")
	}
	p.agent.Disconnect()
	p.follow()
	if out := p.agent.Trust(0, p.server.Chain); len(out.Send) > 0 || p.agent.Chain.Newest().Number != 5 {
		t.Error("without a connection it does not take it up, or says Hello")
	}
}
