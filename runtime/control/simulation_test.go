package control

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/runtime/trust"
)

func TestMain(m *testing.M) { rapidtest.Main(m, "100") }

// world is a database, the servers that work with it, their hosts, and what is between them.
type world struct {
	*rapid.T
	rng     *rand.Rand    // what rapid draws would be mostly small, and few things would happen
	now     time.Duration // true time, from an epoch on
	owner   trust.PrivateKey
	signed  *trust.Signed // the first trust document
	db      *database
	backup  *database
	servers []*server // that run, or are stopped and believe to run
	hosts   []*host
	line    []letter
	// reached is how far each stream was stored since the database was last taken back.
	reached map[string]uint64
	// assigned is every assignment that was ever signed and committed, by its content.
	assigned map[trust.Digest]bool
	former   []*trust.Signed // the same, in their order
	values   int             // of renewals, that were given
	calmly   bool            // nothing breaks any more
}

// letter is a message on its way between a machine and whichever servers listen.
type letter struct {
	machine  *machine
	toServer bool
	Message
}

// epoch is the true time at which a world begins; an assignment is accepted for so long.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const validity = 2 * time.Hour

func (w *world) wall() time.Time { return epoch.Add(w.now) }

func (w *world) key() trust.PrivateKey {
	k, err := trust.GenerateKey()
	if err != nil {
		w.Fatal(err)
	}
	return k
}

// sizes are how many hosts there are: mostly few.
var sizes = []int{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 8, 12, 20, 50}

func newWorld(t *rapid.T) *world {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "second half of the seed")))
	w := &world{T: t, rng: rng, reached: map[string]uint64{}, assigned: map[trust.Digest]bool{}}
	w.owner = w.key()
	recovery := w.key()
	document := &trust.Document{Generation: 1, Number: 1, Recovery: recovery.Public(), Keys: []trust.Delegated{
		{Key: w.owner.Public(), Name: "server", Verbs: []trust.Verb{trust.VerbTrust, trust.VerbAssign}}}}
	var err error
	if w.signed, err = trust.Sign(trust.KindDocument, document, recovery, w.owner); err != nil {
		t.Fatal(err)
	}
	w.db = &database{epoch: 1, chain: w.chain(), rows: map[trust.ID]*row{}, items: map[string]map[uint64]string{}}
	w.elect()
	for range sizes[rapid.IntRange(0, len(sizes)-1).Draw(t, "hosts")] {
		h := &host{id: w.key().ID(), told: map[string]map[uint64]map[string]bool{}}
		w.hosts = append(w.hosts, h)
		m := &machine{host: h, durable: durable{chain: []*trust.Signed{w.signed}, held: map[string]*Assigned{}, stream: w.streamName(h), first: 1, value: w.value()}}
		w.db.rows[h.id] = &row{Host: Host{ID: h.id, Targets: map[string]Target{}}, renewals: trust.Renewals{Value: m.value}}
		h.machines = []*machine{m}
		w.start(m)
	}
	w.backup = w.db.clone()
	return w
}

func (w *world) chain() *trust.Chain {
	c, err := trust.ParseChain([]*trust.Signed{w.signed})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// sample picks one of a list.
func sample[T any](w *world, list []T) T { return list[w.rng.IntN(len(list))] }

// chance tells whether something goes wrong.
func (w *world) chance(percent int) bool {
	return !w.calmly && w.rng.IntN(100) < percent
}

// deliver has a letter arrive, or not, or twice: whichever is drawn.
func (w *world) deliver() {
	if len(w.line) == 0 {
		return
	}
	at := 0
	if w.chance(30) { // another one is faster
		at = w.rng.IntN(len(w.line))
	}
	l := w.line[at]
	if !w.chance(10) {
		w.line = slices.Delete(w.line, at, at+1)
	}
	if !w.chance(10) {
		w.receive(l)
	}
}

// receive has a letter arrive: at all servers that listen, of which one alone may write.
func (w *world) receive(l letter) {
	if !l.toServer {
		w.carry(l.machine, l.machine.agent.Receive(l.machine.time(w), w.falsify(l.Message)))
		return
	}
	for _, s := range slices.Clone(w.servers) {
		if !s.stopped {
			w.serve(s, l)
		}
	}
}

// falsify is what an evil broker does: it puts into an answer what was signed before, for whomever.
func (w *world) falsify(m Message) Message {
	answer, ok := m.(*Answer)
	if !ok || len(w.former) == 0 || !w.chance(10) {
		return m
	}
	forged := *answer
	forged.Assignments = append(slices.Clone(answer.Assignments), sample(w, w.former))
	return &forged
}

// act has one thing happen to a host.
func (w *world) act(h *host) {
	m := sample(w, h.machines)
	switch w.rng.IntN(12) {
	case 0, 1, 2:
		w.tell(m)
	case 3, 4, 5:
		w.assign(sample(w, w.servers), h, sample(w, []string{"a", "b"}))
	case 6:
		w.start(m)
	case 7:
		m.agent.Disconnect()
		w.carry(m, m.agent.Connect(m.time(w)))
	case 8:
		year := 365 * 24 * time.Hour
		m.skew = sample(w, []time.Duration{0, 0, -10 * time.Minute, 10 * time.Minute, year, -w.wall().Sub(time.Unix(0, 0))})
	case 9:
		w.renew(m)
	case 10:
		w.copy(m)
	case 11:
		w.trust(m)
	}
}

// happen has one thing happen to the servers.
func (w *world) happen() {
	switch w.rng.IntN(7) {
	case 0: // a crash
		w.end(w.active())
		w.elect()
	case 1, 2: // the leader stops, as a machine that is suspended does: another one takes over
		w.active().stopped = true
		w.elect()
	case 3:
		w.servers[w.rng.IntN(len(w.servers))].stopped = false
	case 4:
		w.backup = w.db.clone()
	case 5:
		w.restore()
	case 6:
		if w.db.recovering {
			w.resume()
		}
	}
}

// Whatever is lost, doubled, delayed and reordered, whoever dies, stops, is copied or taken back in time, and whatever clocks say: hosts take up ever later
// assignments, which are durable before, what a server says that it has is there, who no longer leads changes nothing, copies are noticed, nobody else is
// taken for one, and in the end both sides are in order.
func TestSimulation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range w.rng.IntN(200 + 10*len(w.hosts)) {
			h := w.hosts[w.rng.IntN(len(w.hosts))]
			switch step := w.rng.IntN(32); {
			case step < 15:
				for range 1 + w.rng.IntN(10) { // what is on its way is mostly faster than what happens
					w.deliver()
				}
			case step < 26:
				w.act(h)
			case step < 29:
				w.pass(sample(w, []time.Duration{time.Second, Patience, Heartbeat, validity / 2}), h)
			default:
				w.happen()
			}
			w.check(h)
		}
		w.calm()
	})
}

// pass lets time pass, of which a host takes note.
func (w *world) pass(d time.Duration, h *host) {
	w.now += d
	for _, m := range h.machines {
		w.carry(m, m.agent.Tick(m.time(w)))
	}
}
