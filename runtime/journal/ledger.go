package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/states"
)

// LedgerFormat is the version of owed.json.
const LedgerFormat = "tenet.owed/1"

// Ledger is what runs have left for those that come after them, of all sites:
// the sum of their events. It is data; owed.json holds one as a cache.
type Ledger struct {
	Format  string `json:"format"`
	Through string `json:"through"` // the last run that is in it
	// Open are runs up to Through that go on: their events are more by now, and are
	// to be added once more.
	Open []string `json:"open,omitempty"`
	// Debts are what handlers are owed, the oldest first.
	Debts []states.Debt `json:"debts"`
	// Unknown are the parts that were begun and not seen to end.
	Unknown []states.Begun `json:"unknown"`
	// Unconfirmed are blocks that changed something, and whose check did not end.
	Unconfirmed []Unconfirmed `json:"unconfirmed,omitempty"`
	// Nodes are the nodes of data that rules have made or found as wanted, by site and address.
	Nodes map[string]map[string]Node `json:"nodes,omitempty"`
	// DigestKey is the key by which secrets in Nodes are digested; nil: none are. It stays on the machine.
	DigestKey []byte `json:"-"`
	// Damaged says what of the runs could not be read, for people.
	Damaged []string `json:"damaged,omitempty"`

	base string // through which run owed.json is
}

// Node is a node of data as a rule has last made it.
type Node struct {
	// Data is what is remembered of it: as it was last, or as it was to become first.
	Data json.RawMessage `json:"data,omitempty"`
	// IsUnknown: something was begun with it, and not seen to end well.
	IsUnknown bool `json:"unknown,omitempty"`
}

// Unconfirmed is a block whose check has not ended: what it changed in a run is
// to be checked still, or put back from that run's backups.
type Unconfirmed struct {
	Site  string `json:"site"`
	Block string `json:"block"`
	Run   string `json:"run"`
}

// Identity names a site in records: its name or, where it has none, the place
// where it lies (an absolute path).
func Identity(site, origin string) string { return cmp.Or(site, origin) }

// Replay adds the events of one run to a Ledger, be it after the run or as it
// goes. It is not for several goroutines at once.
type Replay struct {
	Ledger *Ledger
	site   string
	run    string
	boot   string
	begun  map[string]*states.Event // by address: parts without an end
	taken  map[string]taken         // by address of a handler's wave that has started
}

// taken is what a wave has taken over when it started.
type taken struct {
	at    time.Time
	debts []states.Debt
}

// NewReplay begins with a run of a site, by its Identity.
func NewReplay(l *Ledger, site, run string) *Replay {
	l.adopt(site)
	return &Replay{Ledger: l, site: site, run: run, begun: map[string]*states.Event{}, taken: map[string]taken{}}
}

// Add takes an event. Those that say nothing about debts cost nothing.
func (r *Replay) Add(ev *states.Event) {
	switch ev.Type {
	case states.EventRun:
		r.boot = ev.Boot
		r.isOf(ev)
	case states.EventResume:
		r.settle() // what the process before had begun
		r.boot = ev.Boot
		r.isOf(ev) // a loss of power may have taken all that the process before has written
	case states.EventBegin:
		begun := *ev // the caller's own is not kept, so that most events need no memory
		r.begun[ev.Address] = &begun
	case states.EventPart:
		r.part(ev)
	case states.EventStart:
		r.taken[ev.Address] = taken{ev.Time, r.Owed(states.WithoutWave(ev.Address))}
	case states.EventInvocation:
		r.owes(ev.Address, ev, ev.Outcome)
		r.paid(ev)
	case states.EventOwed:
		r.forgive(ev.Owed[:min(1, len(ev.Owed))])
		for _, d := range ev.Owed[min(1, len(ev.Owed)):] {
			r.add(d)
		}
	case states.EventDropped:
		r.forgive(ev.Owed)
		if len(ev.Owed) == 0 {
			r.known(ev.Address)
		}
	case states.EventUnknown:
		r.renamed(ev)
	case states.EventNode:
		r.node(ev)
	case states.EventConfirm:
		r.confirm(ev)
		r.owes(ev.Address, ev, states.Failed)
	case states.EventRestored: // which is a change, too
		r.owes(ev.Address, ev, states.Changed)
	}
}

// isOf takes the site from the first event of a process: the run's status may be lost, or damaged, and the events have a digest each.
// Resumptions of older versions name the place alone.
func (r *Replay) isOf(ev *states.Event) {
	site := Identity(ev.Site, ev.Origin)
	if site == "" || site == r.site || ev.Type == states.EventResume && ev.Site == "" && r.site != "" {
		return
	}
	r.site = site
	r.Ledger.adopt(site)
}

// End takes note that no more events will come: what is begun is unknown, and
// its handlers are owed.
func (r *Replay) End() {
	r.settle()
	r.Ledger.Through = max(r.Ledger.Through, r.run)
}

// Begun tells whether something was begun that has not ended.
func (r *Replay) Begun() bool { return len(r.begun) > 0 }

// settle makes unknown what was begun.
func (r *Replay) settle() {
	byTime := func(a, b *states.Event) int { return cmp.Compare(a.Seq, b.Seq) }
	for _, ev := range slices.SortedFunc(maps.Values(r.begun), byTime) {
		ev := *ev
		ev.Owes = ev.Handlers
		r.owes(ev.Address, &ev, states.Unknown)
		r.unknown(&ev)
	}
	for _, wave := range slices.Sorted(maps.Keys(r.taken)) {
		r.again(wave, r.taken[wave].at, states.Unknown)
	}
	clear(r.begun)
	clear(r.taken)
}

// again makes a handler, one of whose waves has started and not gone well, owed to
// itself, if it is owed nothing else: a wave before may have taken what called both.
// Half of a restart is a service that is down.
func (r *Replay) again(wave string, at time.Time, why states.Outcome) {
	if handler := states.WithoutWave(wave); len(r.Owed(handler)) == 0 {
		r.add(states.Debt{Site: r.site, Handler: handler, Notifier: handler, Run: r.run, Since: at, Why: why})
	}
}

// part takes a part's end.
func (r *Replay) part(ev *states.Event) {
	begun := r.begun[ev.Address]
	delete(r.begun, ev.Address)
	if len(r.Ledger.Unknown) > 0 && settled(ev.Outcome) {
		r.known(states.WithoutWave(ev.Address))
	}
	if ev.Outcome == states.Unknown {
		if begun == nil {
			begun = ev
		}
		r.unknown(begun)
	}
	r.owes(ev.Address, ev, ev.Outcome)
}

// settled reports whether a former act of a part with this outcome is past: it was
// carried out, or it was its turn and there was no call for it, as for a part of a
// rescue when nothing fails any more.
func settled(o states.Outcome) bool {
	return o != states.Blocked && o != states.Unknown && o != ""
}

func (r *Replay) unknown(ev *states.Event) {
	address := states.WithoutWave(ev.Address)
	r.known(address)
	r.Ledger.Unknown = append(r.Ledger.Unknown, states.Begun{
		Site: r.site, Address: address, ID: ev.ID, Type: ev.Part, Key: ev.Key, Action: ev.Action,
		Run: r.run, Time: ev.Time, Boot: r.boot,
	})
}

// known takes a part off the list of unknown ones.
func (r *Replay) known(address string) {
	r.Ledger.Unknown = slices.DeleteFunc(r.Ledger.Unknown, func(b states.Begun) bool {
		return b.Site == r.site && b.Address == address
	})
}

// renamed gives a part that is unknown the address that it has now.
func (r *Replay) renamed(ev *states.Event) {
	for i, b := range r.Ledger.Unknown {
		if b.Site == r.site && b.Run == ev.Run && b.ID == ev.ID && b.ID != "" {
			r.Ledger.Unknown[i].Address = ev.Address
		}
	}
}

// owes notes the debts that an end has brought about.
func (r *Replay) owes(address string, ev *states.Event, why states.Outcome) {
	for _, handler := range ev.Owes {
		r.add(states.Debt{
			Site: r.site, Handler: handler, Notifier: states.WithoutWave(address), Run: r.run, Since: ev.Time, Why: why,
		})
	}
}

// add adds a debt. The same one from before stays as it is, but it is owed anew
// to waves that have taken it.
func (r *Replay) add(d states.Debt) {
	for wave, t := range r.taken {
		t.debts = slices.DeleteFunc(t.debts, func(o states.Debt) bool { return same(o, d) })
		r.taken[wave] = t
	}
	if !among(r.Ledger.Debts, d) {
		r.Ledger.Debts = append(r.Ledger.Debts, d)
	}
}

// same reports whether two debts are one; in which run it came to be does not
// matter.
func same(a, b states.Debt) bool {
	return a.Site == b.Site && a.Handler == b.Handler && a.Notifier == b.Notifier
}

func among(list []states.Debt, d states.Debt) bool {
	return slices.ContainsFunc(list, func(o states.Debt) bool { return same(o, d) })
}

// Owed gives what a handler of the site is owed now. What a part has only begun
// is not among it: its end comes later.
func (r *Replay) Owed(handler string) (list []states.Debt) {
	for _, d := range r.Ledger.Debts {
		if d.Site == r.site && d.Handler == handler {
			list = append(list, d)
		}
	}
	return list
}

// paid clears the debts that a wave has taken, if it has gone well. One that its
// own guard skipped has paid.
func (r *Replay) paid(ev *states.Event) {
	t, started := r.taken[ev.Address]
	delete(r.taken, ev.Address)
	switch ev.Outcome {
	case states.Changed, states.Unchanged, states.Skipped:
		r.forgive(t.debts)
	case states.Failed, states.Unknown:
		if started {
			r.again(ev.Address, ev.Time, ev.Outcome)
		}
	}
}

// forgive takes debts off the list.
func (r *Replay) forgive(list []states.Debt) {
	if len(list) == 0 {
		return
	}
	r.Ledger.Debts = slices.DeleteFunc(r.Ledger.Debts, func(d states.Debt) bool { return among(list, d) })
}

// node notes what has become of a node.
func (r *Replay) node(ev *states.Event) {
	nodes := r.Ledger.Nodes[r.site]
	switch {
	case ev.Outcome == "":
		known := nodes[ev.Address].Data
		if len(known) == 0 {
			known = ev.Node // what it was to become
		}
		r.Ledger.setNode(r.site, ev.Address, Node{Data: known, IsUnknown: true})
	case len(ev.Node) == 0:
		delete(nodes, ev.Address)
		if len(nodes) == 0 {
			delete(r.Ledger.Nodes, r.site)
		}
	default:
		r.Ledger.setNode(r.site, ev.Address, Node{Data: ev.Node})
	}
}

func (l *Ledger) setNode(site, address string, n Node) {
	if l.Nodes == nil {
		l.Nodes = map[string]map[string]Node{}
	}
	if l.Nodes[site] == nil {
		l.Nodes[site] = map[string]Node{}
	}
	l.Nodes[site][address] = n
}

// confirm notes that a block waits for its check, or that this has ended. An event
// about a block of an earlier run names that and its site.
func (r *Replay) confirm(ev *states.Event) {
	l, u := r.Ledger, Unconfirmed{Site: cmp.Or(ev.Site, r.site), Block: ev.Address, Run: cmp.Or(ev.Run, r.run)}
	if ev.Outcome != "" {
		l.Unconfirmed = slices.DeleteFunc(l.Unconfirmed, func(o Unconfirmed) bool {
			return o == u || ev.Run == "" && o.Site == u.Site && o.Block == u.Block
		})
		return
	}
	if !slices.Contains(l.Unconfirmed, u) {
		l.Unconfirmed = append(l.Unconfirmed, u)
	}
}

// adopt makes the records of sites without name and place those of a site without
// a name: before format 2 of the state folder the place was not recorded.
func (l *Ledger) adopt(site string) {
	if !strings.HasPrefix(site, "/") {
		return
	}
	for i := range l.Debts {
		l.Debts[i].Site = cmp.Or(l.Debts[i].Site, site)
	}
	for i := range l.Unknown {
		l.Unknown[i].Site = cmp.Or(l.Unknown[i].Site, site)
	}
	for i := range l.Unconfirmed {
		l.Unconfirmed[i].Site = cmp.Or(l.Unconfirmed[i].Site, site)
	}
}

// Empty reports whether runs have left nothing.
func (l *Ledger) Empty() bool {
	return len(l.Debts)+len(l.Unknown)+len(l.Unconfirmed) == 0
}

// equal reports whether two Ledgers say the same, whatever the runs they go through.
func (l *Ledger) equal(o *Ledger) bool {
	return slices.Equal(l.Debts, o.Debts) && slices.Equal(l.Unknown, o.Unknown) &&
		slices.Equal(l.Unconfirmed, o.Unconfirmed) && slices.Equal(l.Damaged, o.Damaged) &&
		maps.EqualFunc(l.Nodes, o.Nodes, func(a, b map[string]Node) bool {
			return maps.EqualFunc(a, b, func(x, y Node) bool { return x.IsUnknown == y.IsUnknown && bytes.Equal(x.Data, y.Data) })
		})
}

// Clone gives a copy that does not share its lists.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.Debts, c.Unknown, c.Unconfirmed = slices.Clone(l.Debts), slices.Clone(l.Unknown), slices.Clone(l.Unconfirmed)
	c.Damaged = slices.Clone(l.Damaged)
	c.Nodes = nil
	for site, nodes := range l.Nodes {
		if c.Nodes == nil {
			c.Nodes = map[string]map[string]Node{}
		}
		c.Nodes[site] = maps.Clone(nodes)
	}
	return &c
}

// Of gives what runs have left for one site, by its Identity.
func (l *Ledger) Of(site string) *Ledger {
	c := l.Clone()
	c.adopt(site)
	c.Debts = slices.DeleteFunc(c.Debts, func(d states.Debt) bool { return d.Site != site })
	c.Unknown = slices.DeleteFunc(c.Unknown, func(b states.Begun) bool { return b.Site != site })
	c.Unconfirmed = slices.DeleteFunc(c.Unconfirmed, func(u Unconfirmed) bool { return u.Site != site })
	return c
}
