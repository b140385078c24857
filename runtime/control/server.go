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
	// Accepted is what the host was found to hold that the server does not know, by site, and a person has left to it.
	Accepted map[string]trust.Position
	Trust    Trust          // the newest trust document that it had at its newest Hello
	Locked   bool           // nothing new is delivered to it; what it tells is taken in
	Program  *trust.Running // that its agent runs, as its newest Hello said; nil: it did not
	Refused  string         // why its newest Hello was refused; empty: it was not
	Release  *Release       // that it is to run; nil: whatever it runs
	Spoken   int            // the highest version of the protocol that was spoken with it; 0: none was
	Offered  int64          // the number of the offer in the newest answer to it; 0: there was none
}

// Release is one that a host is to run.
type Release struct {
	Offer
	Version string
}

// Stream is how far the server has one of a host.
type Stream struct {
	ID     string
	Stored uint64
}

// Target is the newest assignment of a site.
type Target struct {
	trust.Position
	Signed  *trust.Signed
	content trust.Digest // of Signed.Content, once somebody has asked for it
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
	// Program is the version of the server's program, for agents; empty: it is not told, and suits all.
	Program string
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
	if err := checkSpoken(Version, h.Spoken); err != nil {
		return &Refusal{Session: m.Session, Why: err.Error()}
	}
	if m.Program != nil && !m.Trial {
		h.Program = m.Program
	}
	if m.Program != nil {
		if err := CheckVersions(m.Program.Version, s.Program); err != nil {
			r := &Refusal{Session: m.Session, Why: err.Error()}
			if !m.Trial {
				h.Session, h.Refused, h.Trust = m.Session, r.Why, m.Trust
				r.Offer, r.Documents = s.offer(h), s.documents(m.Trust)
				h.Offered = r.Offer.number()
			}
			return r
		}
	}
	if m.Trial { // somebody else has the session, and what is delivered
		return &Answer{Session: m.Session, Version: Version, Term: s.Term, Program: s.Program}
	}
	h.Refused, h.Spoken = "", Version
	h.Session, h.Trust = m.Session, m.Trust
	h.Held = maps.Clone(m.Held)
	a := &Answer{Program: s.Program, Offer: s.offer(h), Session: m.Session, Version: Version, Term: s.Term, Stored: h.stream(m.Stream).Stored, Documents: s.documents(m.Trust)}
	a.Unknown, h.Offered = h.Unknown(), a.Offer.number()
	for _, site := range s.due(h) {
		a.Assignments = append(a.Assignments, h.Targets[site].Signed)
	}
	return a
}

// documents lists the trust documents that somebody lacks who has one of them, and those before it.
func (s *Server) documents(has Trust) []*trust.Signed {
	return s.Chain.After(has.Generation, has.Number)
}

// offer gives the release that a host is to run, where it runs another one.
func (s *Server) offer(h *Host) *Offer {
	if s.Recovering || h.Locked || h.Release == nil || h.Program == nil || h.Program.Version == h.Release.Version {
		return nil
	}
	return &h.Release.Offer
}

// number is that of an offer; 0: there is none.
func (o *Offer) number() int64 {
	if o == nil {
		return 0
	}
	return o.Number
}

// due lists the sites of which a host is to get an assignment: not those of which it would refuse it, since what it holds comes after.
func (s *Server) due(h *Host) []string {
	if s.Recovering || h.Locked {
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
	if accepted, ok := h.Accepted[site]; ok && held.Position.Compare(accepted) <= 0 {
		return false
	}
	switch c := held.Position.Compare(target.Position); {
	case c == 0:
		return held.Content != h.contentOf(site)
	default:
		return c > 0
	}
}

// contentOf is the digest of what is wanted for a site. It is kept, since a server with many hosts asks for all of them.
func (h *Host) contentOf(site string) trust.Digest {
	t := h.Targets[site]
	if t.content == (trust.Digest{}) {
		t.content = trust.DigestOf(t.Signed.Content)
		h.Targets[site] = t
	}
	return t.content
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

// Pulse answers a sign of life: with a Wake, where the host lacks something that the server has, or has something that the server lacks or has taken back.
func (s *Server) Pulse(h *Host, m *Pulse) Message {
	if m.Session != h.Session || m.Term != s.Term || len(h.Streams) == 0 || h.Streams[len(h.Streams)-1].Stored < m.Last {
		return &Wake{}
	}
	if len(s.due(h)) > 0 || len(s.documents(h.Trust)) > 0 || s.offer(h).number() != h.Offered {
		return &Wake{}
	}
	if !s.Recovering && len(h.Unknown()) > 0 { // what it was to show was lost on its way
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
	case m.Program != nil && m.Program.Check() != nil:
		return fmt.Errorf("the agent names its program: %w", m.Program.Check())
	case len(m.Held) > maxSites:
		return fmt.Errorf("the agent holds assignments of more than %d sites", maxSites)
	}
	return nil
}
