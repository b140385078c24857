package control

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Host is what a server keeps of a host. A function below that changes it is called within a transaction, and what it gives to send is sent after the
// commit.
type Host struct {
	ID      trust.ID
	Session string            // of the newest Hello
	Streams []Stream          // the newest last
	Targets map[string]Target // by site: what the host is to hold
	Held    map[string]Holding
}

// Stream is how far the server has one of a host.
type Stream struct {
	ID     string
	Stored uint64
}

// Target is the newest assignment of a site.
type Target struct {
	trust.Position
	Signed *trust.Signed
}

// maxStreams bounds the streams that a host may have: it begins one when its records were lost.
const maxStreams = 8

// Server is what a server knows, whichever host speaks. In one that recovers from a backup, or was taken back in time, nothing is
// delivered until a person has looked at it.
type Server struct {
	Term       uint64 // grows with each start
	Epoch      uint64 // of the assignments that it gives
	Recovering bool
	Chain      *trust.Chain
	// Seen is the highest epoch of assignments that hosts have shown, and that were given by nobody else than this server's keys.
	Seen uint64
}

// Assign gives the next position of a site on a host. The caller signs an assignment with it, and stores it with Target in the same transaction.
func (s *Server) Assign(h *Host, site string) trust.Position {
	at := h.Targets[site].Position
	if at.Epoch == s.Epoch {
		return trust.Position{Epoch: s.Epoch, N: at.N + 1}
	}
	return trust.Position{Epoch: s.Epoch, N: 1}
}

// Hello answers one, and says what the host holds from now on.
func (s *Server) Hello(h *Host, m *Hello) Message {
	if err := m.Check(); err != nil {
		return &Refusal{Session: m.Session, Why: err.Error()}
	}
	h.Session = m.Session
	h.Held = maps.Clone(m.Held)
	a := &Answer{Session: m.Session, Version: Version, Term: s.Term, Stored: h.stream(m.Stream).Stored, Documents: s.Chain.After(m.Trust.Generation, m.Trust.Number)}
	a.Unknown = h.Unknown()
	for _, site := range s.due(h) {
		a.Assignments = append(a.Assignments, h.Targets[site].Signed)
	}
	return a
}

// due lists the sites of which a host is to get an assignment: not those of which it would refuse it, since what it holds comes after.
func (s *Server) due(h *Host) []string {
	if s.Recovering {
		return nil
	}
	var sites []string
	for _, site := range slices.Sorted(maps.Keys(h.Targets)) {
		if held, ok := h.Held[site]; !ok || held.Position.Compare(h.Targets[site].Position) < 0 {
			sites = append(sites, site)
		}
	}
	return sites
}

// Unknown lists the sites of which a host holds an assignment that the server does not know. Whoever ends a recovery decides on each.
func (h *Host) Unknown() []string {
	var sites []string
	for _, site := range slices.Sorted(maps.Keys(h.Held)) {
		if h.isUnknown(site) {
			sites = append(sites, site)
		}
	}
	return sites
}

// isUnknown tells whether a host holds something of a site that comes after all that the server has given, or differs from it.
func (h *Host) isUnknown(site string) bool {
	held, target := h.Held[site], h.Targets[site]
	switch c := held.Position.Compare(target.Position); {
	case c == 0:
		return held.Content != trust.DigestOf(target.Signed.Content)
	default:
		return c > 0
	}
}

// stream gives one of a host's, which is new if it is not known. The oldest goes where there are too many.
func (h *Host) stream(id string) *Stream {
	i := slices.IndexFunc(h.Streams, func(s Stream) bool { return s.ID == id })
	if i < 0 {
		if len(h.Streams) == maxStreams {
			h.Streams = slices.Delete(h.Streams, 0, 1)
		}
		h.Streams, i = append(h.Streams, Stream{ID: id}), len(h.Streams)
	}
	return &h.Streams[i]
}

// Batch takes a batch in if it is the next one of its stream, in which case the caller stores its items in the same transaction, and
// says how far the stream is stored. An older session gets no answer: its agent says Hello.
func (s *Server) Batch(h *Host, b *Batch) (taken bool, answer Message) {
	if b.Check() != nil || b.Session != h.Session {
		return false, nil
	}
	stream := h.stream(b.Stream)
	if taken = b.First == stream.Stored+1; taken {
		stream.Stored = b.Last
	}
	return taken, &Stored{Session: b.Session, Term: s.Term, Stream: b.Stream, Through: stream.Stored}
}

// Pulse answers a sign of life: with a Wake, where the host lacks something that the server has, or has something that the server lacks.
func (s *Server) Pulse(h *Host, m *Pulse) Message {
	if m.Session != h.Session || m.Term != s.Term || len(h.Streams) == 0 || h.Streams[len(h.Streams)-1].Stored < m.Last {
		return &Wake{}
	}
	if len(s.due(h)) > 0 {
		return &Wake{}
	}
	return nil
}

// Shown looks at what a host holds that the server does not know. If a key has signed it that may, the server has lost it: it recovers
// from now on.
func (s *Server) Shown(h *Host, m *Shown) {
	if m.Session != h.Session {
		return
	}
	for _, signed := range m.Assignments[:min(len(m.Assignments), maxSites)] {
		a, err := s.Chain.ShownAssignment(signed, h.ID)
		if err != nil || h.Held[a.Site].Position != a.Position || !h.isUnknown(a.Site) {
			continue
		}
		s.Recovering, s.Seen = true, max(s.Seen, a.Epoch)
	}
}

// Resume ends the recovery, in an epoch that comes after all that hosts have shown. What hosts are to be from then on is assigned anew:
// all Targets, and the sites of Host.Unknown.
func (s *Server) Resume() { s.Epoch, s.Recovering = max(s.Epoch, s.Seen)+1, false }

// Limits of a Hello.
const (
	maxSites   = 256
	maxVersion = 16
	maxText    = 200
)

// Check says why a Hello makes no sense to this server.
func (m *Hello) Check() error {
	switch {
	case !slices.Contains(m.Versions[:min(len(m.Versions), maxVersion)], Version):
		return fmt.Errorf("the server speaks version %d of the protocol, and the agent %v", Version, m.Versions[:min(len(m.Versions), maxVersion)])
	case m.Session == "" || m.Stream == "" || len(m.Session) > maxText || len(m.Stream) > maxText || len(m.Boot) > maxText:
		return errors.New("the agent names no session or no stream")
	case m.First == 0 || m.Last > maxSequence || m.First > m.Last+1:
		return fmt.Errorf("the stream goes from %d to %d", m.First, m.Last)
	case len(m.Held) > maxSites:
		return fmt.Errorf("the agent holds assignments of more than %d sites", maxSites)
	}
	return nil
}
