package ui

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/states"
)

// table shows on a terminal what happens on several hosts while it does: a line for
// each, as many as there is room for, those that failed and those at work first.
type table struct {
	printer
	style
	mu         *sync.Mutex // the Fleet's
	screen     func() (width, height int)
	plan       bool
	trouble    func(*fleet.Outcome) *states.Failure
	order      []string
	hosts      map[string]*tableHost
	name       int // width of the names
	started    time.Time
	drawnLines int // lines of it that stand on the screen
	pauses     int // how many use the terminal for themselves: nothing is drawn
	done       chan struct{}
	drawer     fault.Group
	closing    sync.Once
}

// tableHost is a host's line.
type tableHost struct {
	name         string
	state        fleet.State
	total, ended int
	order        []string             // what runs, in the order of beginning
	running      map[string]time.Time // since when
	failed       int
	note         string
	outcome      *fleet.Outcome
}

// newTable begins to draw.
func newTable(o FleetOptions, mu *sync.Mutex) *table {
	t := newIdleTable(o, mu)
	t.drawer.Go(t.tick)
	return t
}

func newIdleTable(o FleetOptions, mu *sync.Mutex) *table {
	t := &table{printer: printer{w: o.Err}, style: style(o.ColorErr), mu: mu, screen: o.Screen, plan: o.Plan, trouble: o.Trouble, order: o.Hosts,
		hosts: map[string]*tableHost{}, started: time.Now(), done: make(chan struct{})}
	for _, name := range o.Hosts {
		t.hosts[name] = &tableHost{name: name, state: fleet.Waiting, running: map[string]time.Time{}}
		t.name = max(t.name, min(len(name), maxName))
	}
	return t
}

func (t *table) tick() {
	ticker := time.NewTicker(redrawInterval)
	defer ticker.Stop()
	for {
		select {
		case <-t.done:
			return
		case now := <-ticker.C:
			t.mu.Lock()
			t.look(now)
			t.mu.Unlock()
		}
	}
}

// look draws the table, if it is time and there is nothing else on the terminal. The lock is
// held.
func (t *table) look(now time.Time) {
	if t.pauses == 0 && now.Sub(t.started) >= firstDelay {
		t.draw(now)
	}
}

// stop takes the table away for good.
func (t *table) stop() {
	t.closing.Do(func() { close(t.done) })
	t.drawer.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
}

// erase takes the table off the screen. The lock is held.
func (t *table) erase() {
	if t.drawnLines > 0 {
		t.print(fmt.Sprintf("\x1b[%dA\r\x1b[J", t.drawnLines))
		t.drawnLines = 0
	}
	t.flush()
}

// draw puts the table over the one before, in one piece, so that nothing flickers.
func (t *table) draw(now time.Time) {
	width, height := t.screen()
	lines := t.lines(now, height-1)
	if t.drawnLines > 0 {
		t.print(fmt.Sprintf("\x1b[%dA\r", t.drawnLines))
	}
	for _, line := range lines {
		t.print(t.cut(line, width-1), "\x1b[K\n")
	}
	if len(lines) < t.drawnLines {
		t.print("\x1b[J")
	}
	t.drawnLines = len(lines)
	t.flush()
}

// tableLine is a line of the table, and the colour for it.
type tableLine struct {
	text  string
	paint func(string) string
}

// cut makes a line fit the screen.
func (t *table) cut(line tableLine, width int) string {
	if runes := []rune(line.text); len(runes) > width {
		line.text = string(runes[:max(0, width-1)]) + "…"
	}
	if line.paint == nil {
		return line.text
	}
	return line.paint(line.text)
}

// lines are what the table shows at a moment: the sum, and as many hosts as there
// is room for.
func (t *table) lines(now time.Time, room int) []tableLine {
	hosts := make([]*tableHost, 0, len(t.order))
	for _, name := range t.order {
		hosts = append(hosts, t.hosts[name])
	}
	head := tableLine{t.head(now), t.bold}
	room = max(1, room-1)
	rest := ""
	if len(hosts) > room {
		slices.SortStableFunc(hosts, func(a, b *tableHost) int { return a.rank() - b.rank() })
		shown := min(max(1, room-1), len(hosts))
		makeRoom(hosts, shown)
		for shown > 0 && hosts[shown-1].rank() > busy { // what only waits, or is done, is not news
			shown--
		}
		rest = sumOthers(hosts[shown:])
		hosts = hosts[:shown]
	}
	lines := []tableLine{head}
	for _, h := range hosts {
		lines = append(lines, t.line(h, now))
	}
	if rest != "" {
		lines = append(lines, tableLine{rest, t.dim})
	}
	return lines
}

// makeRoom leaves a third of what is shown to hosts at work, where those that failed, which
// are told of again at the end, would take all of it. The hosts are in the order of ranks.
func makeRoom(hosts []*tableHost, shown int) {
	bad, working := 0, 0
	for _, h := range hosts {
		switch h.rank() {
		case broken:
			bad++
		case busy:
			working++
		}
	}
	kept := min(working, shown/3)
	from := shown - kept
	if bad <= from {
		return
	}
	moved := slices.Concat(hosts[bad:bad+kept], hosts[from:bad])
	copy(hosts[from:], moved)
}

// The order of hosts where there is no room for all.
const (
	broken = iota
	busy
	waiting
	over
)

func (h *tableHost) rank() int {
	switch {
	case h.failed > 0 || h.outcome != nil && h.outcome.Status != fleet.Done && h.outcome.Status != fleet.Skipped:
		return broken
	case h.outcome != nil:
		return over
	case h.state == fleet.Waiting:
		return waiting
	}
	return busy
}

// head is the sum over all hosts.
func (t *table) head(now time.Time) string {
	done, bad := 0, 0
	for _, h := range t.hosts {
		if h.outcome != nil {
			done++
		}
		if h.rank() == broken {
			bad++
		}
	}
	text := fmt.Sprintf("%d of %d hosts", done, len(t.hosts))
	if bad > 0 {
		text += fmt.Sprintf(", %d failed", bad)
	}
	return text + "  " + now.Sub(t.started).Truncate(time.Second).String()
}

// sumOthers sums the hosts that there is no room for.
func sumOthers(hosts []*tableHost) string {
	var n [over + 1]int
	for _, h := range hosts {
		n[h.rank()]++
	}
	return "and " + join([]entry{{n[broken], "failed"}, {n[busy], "at work"}, {n[waiting], "waiting"}, {n[over], "done"}})
}

// line is a host's line.
func (t *table) line(h *tableHost, now time.Time) tableLine {
	name := pad(h.name, t.name) + "  "
	switch {
	case h.outcome != nil:
		return tableLine{name + t.fate(h), map[bool]func(string) string{true: t.red, false: t.green}[h.rank() == broken]}
	case h.state == fleet.Waiting:
		return tableLine{name + "waiting", t.dim}
	}
	text := name
	if h.total > 0 {
		text += fmt.Sprintf("%d/%d", h.ended, h.total)
	} else {
		text += string(h.state)
	}
	if h.failed > 0 {
		text += fmt.Sprintf(", %d failed", h.failed)
	}
	switch {
	case h.state == fleet.Reconnecting:
		text += "  reconnecting: the run goes on there"
	case len(h.order) == 0 && h.note != "":
		text += "  " + h.note
	case len(h.order) == 0 && h.total > 0 && h.state != fleet.Running:
		text += "  " + string(h.state)
	}
	between := "  "
	for _, address := range h.order {
		text += between + address
		if d := now.Sub(h.running[address]); d >= time.Second {
			text += " " + d.Truncate(time.Second).String()
		}
		between = ", "
	}
	if h.failed > 0 {
		return tableLine{text, t.red}
	}
	return tableLine{text, nil}
}

// fate is how it ended with a host.
func (t *table) fate(h *tableHost) string {
	if why := t.trouble(h.outcome); why != nil {
		return because(h.outcome.Status, Line(why.Message))
	}
	r := h.outcome.Result
	switch {
	case r != nil && t.plan && r.Counts.Changed == 0:
		return "nothing to do"
	case r != nil && t.plan:
		return fmt.Sprint(r.Counts.Changed, " to do")
	case r != nil:
		return applyCounts(&r.Counts, 0) + "  " + short(h.outcome.Duration)
	}
	return fate(h.outcome.Status)
}

// host gives a host's line; one that was not announced has none.
func (t *table) host(name string) *tableHost {
	if h := t.hosts[name]; h != nil {
		return h
	}
	return &tableHost{running: map[string]time.Time{}}
}

func (t *table) prepared(machine string, run *states.StateRun) {
	h := t.host(machine)
	h.total = 0
	for _, inv := range run.Invocations {
		h.total += len(inv.Parts)
	}
}

func (t *table) state(machine string, s fleet.State) {
	h := t.host(machine)
	h.state = s
	if s == fleet.Running {
		h.note = ""
	}
}

func (t *table) note(machine, text string) { t.host(machine).note = Line(text) }

func (t *table) ended(machine string, o *fleet.Outcome) { t.host(machine).outcome = o }

// event notes what runs. Times are this machine's: a host's clock may be another.
func (t *table) event(machine string, ev *states.Event) {
	h := t.host(machine)
	switch ev.Type {
	case states.EventBegin:
		if _, again := h.running[ev.Address]; !again {
			h.order = append(h.order, ev.Address)
			h.running[ev.Address] = time.Now()
		}
	case states.EventOrphan:
		if ev.Action == states.Remove { // a part more than are declared
			h.total++
		}
	case states.EventPart:
		h.ended++
		if ev.Outcome == states.Failed || ev.Outcome == states.Unknown {
			h.failed++
		}
		if _, ran := h.running[ev.Address]; ran {
			delete(h.running, ev.Address)
			h.order = slices.DeleteFunc(h.order, func(a string) bool { return a == ev.Address })
		}
	}
}
