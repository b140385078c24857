package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
)

func TestCheckVersions(t *testing.T) {
	for _, c := range []struct {
		agent, server string
		fits          bool
	}{
		{"v1.4.0", "v1.4.9", true}, {"v1.4.0", "v1.5.0", true}, {"v1.5.3", "v1.4.0", true}, {"v1.10.0", "v1.9.0", true},
		{"v1.4.0", "v1.6.0", false}, {"v1.6.0", "v1.4.0", false}, {"v1.4.0", "v2.4.0", false}, {"v1.1.0", "v1.10.0", false},
		{"devel", "v1.4.0", true}, {"v1.4.0", "", true}, {"v0.0.0-20260101000000-abcdefabcdef", "v1.4.0", true},
	} {
		for range 2 { // both ways
			err := control.CheckVersions(c.agent, c.server)
			if (err == nil) != c.fits {
				t.Errorf("an agent %s and a server %s: %v", c.agent, c.server, err)
			}
			if err != nil && (!strings.Contains(err.Error(), c.agent) || !strings.Contains(err.Error(), c.server)) {
				t.Errorf("both are to be named: %v", err)
			}
			c.agent, c.server = c.server, c.agent
		}
	}
}

// releases is a server and the agent of a host, which is to be brought to a release.
type releases struct {
	owner   trust.PrivateKey // may sign trust documents
	server  control.Server
	host    control.Host
	agent   control.Agent
	release *control.Release
}

func newReleases(t *testing.T, running, server, version string, verb trust.Verb) *releases {
	t.Helper()
	var keys [3]trust.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = trust.GenerateKey(); err != nil {
			t.Fatal(err)
		}
	}
	sign := func(kind trust.Kind, content any, by ...trust.PrivateKey) *trust.Signed {
		signed, err := trust.Sign(kind, content, by...)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	document := sign(trust.KindDocument, trust.Document{Generation: 1, Number: 1, Issued: time.Now(), Recovery: keys[0].Public(), Keys: []trust.Delegated{
		{Key: keys[1].Public(), Name: "server", Verbs: []trust.Verb{trust.VerbTrust}}, {Key: keys[2].Public(), Name: "releases", Verbs: []trust.Verb{verb}},
	}}, keys[1], keys[0])
	chain, err := trust.ParseChain([]*trust.Signed{document})
	if err != nil {
		t.Fatal(err)
	}
	signed := sign(trust.KindRelease, trust.Release{Format: trust.ReleaseFormat, Version: version, Programs: []trust.Program{
		{Name: "tenet", OS: "linux", Arch: "amd64", Content: trust.Content{SHA256: trust.DigestOf([]byte("x")), Size: 1}}}}, keys[2])
	r := &releases{owner: keys[1], server: control.Server{Term: 1, Epoch: 1, Chain: chain, Program: server}, host: control.Host{ID: keys[0].ID(), Targets: map[string]control.Target{}}}
	r.release = &control.Release{Offer: control.Offer{Number: 7, Release: signed}, Version: version}
	r.agent = control.Agent{Identity: keys[0].ID(), Boot: "boot", Chain: chain, Held: map[string]*control.Assigned{}, Queue: control.NewQueue("stream", 1, nil), Clock: time.Now,
		Program: &trust.Running{Name: "tenet", Version: running, OS: "linux", Arch: "amd64"}}
	return r
}

// greet says Hello, and gives what the agent makes of the answer.
func (r *releases) greet(t *testing.T) (control.Message, control.Output) {
	t.Helper()
	out := r.agent.Connect(0)
	answer := r.server.Hello(&r.host, out.Send[0].(*control.Hello))
	data, err := control.Encode(answer)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err = control.Decode(data); err != nil {
		t.Fatal(err)
	}
	return answer, r.agent.Receive(0, answer)
}

func TestOffers(t *testing.T) {
	r := newReleases(t, "v1.1.0", "v1.2.0", "v1.2.0", trust.VerbRelease)
	if _, out := r.greet(t); out.Offered != nil || r.host.Program.Version != "v1.1.0" {
		t.Errorf("nothing is to be run, and it is offered %+v; the server knows %+v", out.Offered, r.host.Program)
	}
	r.host.Release = r.release
	if _, out := r.greet(t); out.Offered == nil || out.Offered.Err != nil || out.Offered.Number != 7 || out.Offered.Program == nil {
		t.Errorf("the release is not taken: %+v", out.Offered)
	}
	if _, out := r.greet(t); out.Withdrawn {
		t.Error("what is offered is withdrawn")
	}
	r.agent.Program.Version = "v1.2.0"
	if _, out := r.greet(t); out.Offered != nil {
		t.Errorf("what runs already is offered: %+v", out.Offered)
	}
	r.agent.Program.Version = "v1.3.0"
	if _, out := r.greet(t); out.Offered == nil || out.Offered.Program != nil || out.Offered.Err == nil {
		t.Errorf("an older release is taken: %+v", out.Offered)
	}
	r.agent.Program.Version = "v1.1.0"
	r.host.Locked = true
	if _, out := r.greet(t); out.Offered != nil {
		t.Error("a host that is locked gets a release")
	}
	r = newReleases(t, "v1.1.0", "v1.2.0", "v1.2.0", trust.VerbAssign)
	r.host.Release = r.release
	if _, out := r.greet(t); out.Offered == nil || out.Offered.Err == nil || out.Offered.Program != nil {
		t.Errorf("a release is taken that a key has signed which may not: %+v", out.Offered)
	}
}

// Of a release that is taken back, or offered, without the host noticing, it is told with its next sign of life.
func TestOfferIsWithdrawn(t *testing.T) {
	r := newReleases(t, "v1.1.0", "v1.2.0", "v1.2.0", trust.VerbRelease)
	for _, release := range []*control.Release{r.release, nil, r.release} {
		r.greet(t)
		pulse := &control.Pulse{Session: r.host.Session, Term: r.server.Term}
		if m := r.server.Pulse(&r.host, pulse); m != nil {
			t.Errorf("there is nothing new, and it is told %+v", m)
		}
		r.host.Release = release
		if _, ok := r.server.Pulse(&r.host, pulse).(*control.Wake); !ok {
			t.Errorf("it is not told that %v is to be run", release)
		}
		if _, out := r.greet(t); out.Withdrawn != (release == nil) || (out.Offered != nil) != (release != nil) {
			t.Errorf("%v is to be run: %+v", release, out)
		}
	}
}

// An agent that is too old for the server gets nothing of it but a release; one that is too new gets that both are named.
func TestDistantVersions(t *testing.T) {
	r := newReleases(t, "v1.1.0", "v1.4.0", "v1.4.0", trust.VerbRelease)
	r.host.Release = r.release
	answer, out := r.greet(t)
	refusal, ok := answer.(*control.Refusal)
	if !ok || !strings.Contains(refusal.Why, "v1.1.0") || !strings.Contains(refusal.Why, "v1.4.0") || r.agent.Answered() {
		t.Errorf("it is answered by %+v", answer)
	}
	if out.Offered == nil || out.Offered.Err != nil || r.host.Refused == "" {
		t.Errorf("it gets %+v, and the server keeps that it refuses it: %q", out.Offered, r.host.Refused)
	}
	// A server from before versions were told answers; the agent takes nothing of it then, if it says a version that is too far away.
	r = newReleases(t, "v1.4.0", "", "v1.4.0", trust.VerbRelease)
	hello := r.agent.Connect(0).Send[0].(*control.Hello)
	out = r.agent.Receive(0, &control.Answer{Session: hello.Session, Version: 1, Term: 1, Program: "v1.2.0"})
	if len(out.Refused) != 1 || r.agent.Answered() {
		t.Errorf("%+v", out)
	}
}

// An agent that is too old for the server learns by the refusal that a newer key may release.
func TestDistantVersionLearnsOfReleaseKey(t *testing.T) {
	r := newReleases(t, "v1.1.0", "v1.4.0", "v1.4.0", trust.VerbRelease)
	signed, err := trust.Sign(trust.KindRelease, trust.Release{Format: trust.ReleaseFormat, Version: "v1.4.0", Programs: []trust.Program{
		{Name: "tenet", OS: "linux", Arch: "amd64", Content: trust.Content{SHA256: trust.DigestOf([]byte("x")), Size: 1}}}}, r.owner)
	if err != nil {
		t.Fatal(err)
	}
	next := *r.server.Chain.Newest()
	next.Number++
	next.Keys = []trust.Delegated{{Key: r.owner.Public(), Name: "server", Verbs: []trust.Verb{trust.VerbTrust, trust.VerbRelease}}}
	document, err := trust.Sign(trust.KindDocument, next, r.owner)
	if err != nil {
		t.Fatal(err)
	}
	r.server.Chain = r.server.Chain.Clone()
	if err := r.server.Chain.Add(document); err != nil {
		t.Fatal(err)
	}
	r.release.Release, r.host.Release = signed, r.release
	if _, out := r.greet(t); out.Offered == nil || out.Offered.Err != nil || len(out.Documents) != 1 {
		t.Errorf("it gets %+v, which it judges by document %d", out.Offered, r.agent.Chain.Newest().Number)
	}
}

// A program that is tried has no session: what the server knows of the agent stays.
func TestTrial(t *testing.T) {
	r := newReleases(t, "v1.1.0", "v1.2.0", "v1.2.0", trust.VerbRelease)
	r.host.Release = r.release
	r.greet(t)
	session := r.host.Session
	r.agent.Trial, r.agent.Program = true, &trust.Running{Name: "tenet", Version: "v1.2.0", OS: "linux", Arch: "amd64"}
	_, out := r.greet(t)
	if !r.agent.Answered() || out.Offered != nil || r.host.Session != session || r.host.Program.Version != "v1.1.0" {
		t.Errorf("%+v; the server knows %s, session %s instead of %s", out, r.host.Program.Version, r.host.Session, session)
	}
}
