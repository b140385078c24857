package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
)

// Signatures knows what was signed elsewhere than on the server, and who may sign.
type Signatures interface {
	// MayAssign says why a key may not sign what hosts are to be; an empty one is the server's own.
	MayAssign(key trust.ID) error
	// Signer is the key that has signed what is wanted of a host for a site; empty: nothing is, or it cannot be told.
	Signer(r store.Reader, host trust.ID, site string) (trust.ID, error)
	// Next is the position after that of what is wanted of a host for a site.
	Next(r store.Reader, host trust.ID, site string) (trust.Position, error)
	// Open gives what somebody has signed for a host, and by which key, if that key may.
	Open(signed *trust.Signed, host trust.ID) (*trust.Assignment, trust.PublicKey, error)
	// Deliver keeps it as what is wanted of the host, in the transaction, if its position is in the present epoch and comes after what is wanted now.
	Deliver(tx store.Tx, host trust.ID, signed *trust.Signed) error
	// Told are the facts and the outputs for others of a site as the host has signed them; nil: it has told none.
	Told(ctx context.Context, host trust.ID, site string) (facts, outputs *trust.Signed, err error)
}

// Signing is what somebody needs who evaluates a revision and signs it in the place of the server.
type Signing struct {
	Site     string        `json:"site"`
	Revision int64         `json:"revision"`
	Hosts    []SigningHost `json:"hosts" nullable:"false" doc:"Those that are chosen, and those of which the site may read facts."`
}

// SigningHost is a host as it has signed itself. Nothing here need be believed but the name, which whoever signs knows.
type SigningHost struct {
	ID       trust.ID       `json:"id"`
	Name     string         `json:"name"`
	Keys     *trust.Signed  `json:"keys" doc:"Its keys, as its identity certifies them."`
	Facts    *trust.Signed  `json:"facts,omitempty" doc:"Its newest facts, as it has signed them; none: it has told none."`
	Outputs  *trust.Signed  `json:"outputs,omitempty" doc:"What it gives to others of the site, likewise."`
	Position trust.Position `json:"position" doc:"What an assignment has to have at least."`
	Chosen   bool           `json:"chosen" doc:"It is to be signed for; of others there are facts alone."`
	Declared bool           `json:"declared" doc:"The revision declares it; otherwise it has something of the site that is to be removed."`
	Target   trust.Digest   `json:"target" doc:"The identity of what is wanted of it now; zero: nothing."`
}

// SignedHost is what somebody has evaluated and signed for a host.
type SignedHost struct {
	Host       trust.ID      `json:"host"`
	Assignment *trust.Signed `json:"assignment"`
	Empty      bool          `json:"empty,omitempty" doc:"Nothing is wanted of the host."`
	Read       []Value       `json:"read,omitempty" doc:"What the evaluation has read: where that changes, it has to be signed anew."`
	// Only the host can read what is wanted of it: this is what the one who has signed says of that. Nothing is decided by it.
	evaluate.Composition
}

// maxValidity is how far off the end of an assignment may be that was signed elsewhere.
const maxValidity = 400 * 24 * time.Hour

// signatures gives the part of the server for what is signed elsewhere.
func (s *Service) signatures() (Signatures, error) {
	if s.Options.Signatures == nil {
		return nil, notSupported("this server takes nothing that was signed elsewhere", "leave --sign out")
	}
	return s.Options.Signatures, nil
}

// Signing gives what somebody needs to sign a revision for the hosts of a selector.
func (s *Service) Signing(ctx context.Context, by *access.Caller, name string, number int64, hosts string) (*Signing, error) {
	signs, err := s.signatures()
	if err != nil {
		return nil, err
	}
	selector, err := access.ParseSelector(hosts)
	if err != nil {
		return nil, err
	}
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	out := &Signing{Site: name}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		rev, err := demandRevision(r, by, name, number)
		if err != nil {
			return err
		}
		targets, err := all[targetRow](r, targetsTable, name, "")
		if err != nil {
			return err
		}
		out.Revision, out.Hosts = rev.Number, []SigningHost{}
		declared := declarationOf(rev)
		for i := range enrolled {
			e := &enrolled[i]
			if e.Locked != "" {
				continue
			}
			h := SigningHost{ID: e.ID, Name: e.Name, Keys: e.Keys, Declared: declared.declares(e.Name)}
			if t := targets[e.ID]; t != nil {
				h.Target = t.Identity
			}
			if h.Declared || !h.Target.IsZero() && !targets[e.ID].Absent {
				if h.Chosen, err = by.Choose(access.Deploy, selector, e.target(), name); err != nil {
					return err
				}
			}
			if !h.Chosen && !(h.Declared && by.May(access.Read, e.target(), name)) {
				continue
			}
			if h.Position, err = signs.Next(r, e.ID, name); err != nil {
				return err
			}
			out.Hosts = append(out.Hosts, h)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range out.Hosts {
		h := &out.Hosts[i]
		if h.Facts, h.Outputs, err = signs.Told(ctx, h.ID, name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func demandRevision(r store.Reader, by *access.Caller, name string, number int64) (*Revision, error) {
	if !by.MaySite(access.Deploy, name) {
		return nil, by.Demand(access.Deploy, access.Target{}, name)
	}
	rev, err := revision(r, name, number)
	if err == nil && rev == nil {
		err = notFound(fmt.Sprintf("there is no such revision of the site %.100q", name), "tenet deploy SITE uploads one; of former ones the latest are kept")
	}
	return rev, err
}

// KeepSigned keeps what somebody has signed of a revision for hosts. Its contents are there already. All of it is kept, or nothing.
func (s *Service) KeepSigned(ctx context.Context, by *access.Caller, name string, number int64, list []SignedHost) error {
	if _, err := s.signatures(); err != nil {
		return err
	}
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return err
	}
	known := map[trust.ID]*Enrolled{}
	for i := range enrolled {
		known[enrolled[i].ID] = &enrolled[i]
	}
	for i := range list {
		if err := s.haveContents(ctx, &list[i]); err != nil {
			return err
		}
	}
	err = s.change(ctx, name, func(tx store.Tx) error {
		rev, err := demandRevision(tx, by, name, number)
		if err != nil {
			return err
		}
		declared := declarationOf(rev)
		for i := range list {
			p, err := s.checkSigned(tx, by, declared, known[list[i].Host], &list[i])
			if err == nil {
				err = signedTable.putPrepared(tx, name, rev.Tree, p)
			}
			if err == nil {
				err = access.Audit(tx, access.Entry{At: s.now(), Actor: by.Name, Action: "assignment.sign", Host: string(p.Host), Site: name, Detail: map[string]string{
					"revision": fmt.Sprint(rev.Number), "position": p.Position.String(), "identity": p.Identity.String(), "key": string(p.Key.ID())}})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.Poke()
	}
	return err
}

// haveContents refuses what names contents that are not there.
func (s *Service) haveContents(ctx context.Context, h *SignedHost) error {
	a := &trust.Assignment{}
	if h.Assignment == nil || json.Unmarshal(h.Assignment.Content, a) != nil {
		return invalid("an assignment cannot be read", "tenet deploy --sign makes it")
	}
	named := a.Files
	if !a.Absent {
		named = append(slices.Clone(a.Files), a.Bundle)
	}
	for _, c := range named {
		have, err := s.hasContent(ctx, c)
		if err != nil {
			return err
		}
		if !have {
			return invalid(fmt.Sprintf("the content %s, which an assignment names, was not uploaded", c.SHA256), "sign again")
		}
	}
	return nil
}

// checkSigned says why an assignment cannot be one of a revision for a host.
func (s *Service) checkSigned(r store.Reader, by *access.Caller, rev *declaration, e *Enrolled, h *SignedHost) (*Prepared, error) {
	if e == nil || e.Locked != "" {
		return nil, invalid(fmt.Sprintf("an assignment is for the host %.52s, which is not enrolled, or locked", h.Host), "sign again")
	}
	if err := by.Demand(access.Deploy, e.target(), rev.Site); err != nil {
		return nil, err
	}
	a, key, err := s.Signatures.Open(h.Assignment, e.ID)
	if err != nil {
		return nil, &diag.HintError{Code: ErrSignature, Message: fmt.Sprintf("%s: %v", e.Name, err), Hint: "sign with a key that the trust document lets assign: tenet trust show"}
	}
	next, err := s.Signatures.Next(r, e.ID, rev.Site)
	if err != nil {
		return nil, err
	}
	wrong := func(format string, args ...any) (*Prepared, error) {
		return nil, invalid(e.Name+": "+fmt.Sprintf(format, args...), "sign again: tenet deploy --sign KEY")
	}
	now := s.now()
	switch {
	case a.Site != rev.Site || a.Revision != fmt.Sprint(rev.Number):
		return wrong("it is signed as revision %.20s of %.100q, and this is %d of %s", a.Revision, a.Site, rev.Number, rev.Site)
	case !a.Absent && a.Recipient != e.Sealing:
		return wrong("it is encrypted to another key than the host has now")
	case a.Absent == rev.declares(e.Name):
		return wrong("that the revision declares it, or does not, is not what was signed")
	case a.Epoch != next.Epoch || a.Position.Compare(next) < 0:
		return wrong("its position %s does not come after what is wanted of the host, or is of another epoch: %s is the next one", a.Position, next)
	case a.N > 1<<62:
		return wrong("its position %s leaves none that come after it", a.Position)
	case now.After(a.Until) || a.Until.After(now.Add(maxValidity)):
		return wrong("it is to be accepted until %s, which is over, or more than %d days off", a.Until.UTC().Format(time.RFC3339), int(maxValidity.Hours()/24))
	}
	if err := h.Check(); err != nil {
		return wrong("%v", err)
	}
	p := &Prepared{Host: e.ID, Revision: rev.Tree, Identity: a.Identity, Empty: h.Empty || a.Absent, Absent: a.Absent, At: now, Recipient: a.Recipient, Bundle: a.Bundle, Files: a.Files,
		Read: Reads{list: h.Read}, Signed: h.Assignment, Key: key, Position: a.Position, Until: a.Until}
	if !a.Absent {
		p.Run, p.Components, p.Prunes = h.Run, h.Components, h.Prunes
	}
	if one := rev.byName[e.Name]; one != nil {
		p.Schedule = one.Windows
	}
	return p, nil
}

// unsigned says why what was signed for a host cannot become its target; empty: it can, or has.
func (s *Service) unsigned(p *Prepared, e *Enrolled, l *Look, epoch uint64, told *hostView, now time.Time) string {
	if p == nil {
		return "nothing is signed for it"
	}
	target := l.Target
	isHeld := target != nil && (target.Position == p.Position || target.Identity == p.Identity) && !l.isLapsed(now) && !l.isBeyond()
	switch {
	case !p.Absent && p.Recipient != e.Sealing:
		return "its sealing key is another one than what was signed is encrypted to"
	case p.isStale(told, now):
		return "facts or outputs that the evaluation has read have changed since it was signed"
	case isHeld:
		return ""
	case s.Signatures.MayAssign(p.Key.ID()) != nil:
		return "the key that has signed may not assign any more"
	case now.After(p.Until):
		return "what was signed counted until " + p.Until.UTC().Format(time.RFC3339)
	case p.Position.Epoch != epoch:
		return "the server was restored since it was signed"
	case target != nil && p.Position.Compare(target.Position) <= 0:
		return "something else was wanted of it since it was signed"
	}
	return ""
}

// mayAssign refuses where the server's own key may not sign what hosts are to be.
func (s *Service) mayAssign() error {
	if s.Options.Signatures == nil {
		return nil
	}
	err := s.Signatures.MayAssign("")
	if err != nil {
		err = &diag.HintError{Code: ErrSign, Message: "the trust document does not let this server say what hosts are to be: an operator has to sign it", Hint: askSign}
	}
	return err
}

// askSign is what a person does where something has to be signed.
const askSign = "tenet deploy --sign KEY, with the files of the revision"

// deliver makes what was signed elsewhere the target of a host.
func (s *Service) deliver(tx store.Tx, p *Prepared) (trust.Position, error) {
	if s.Options.Signatures == nil {
		return trust.Position{}, errors.New("this server takes nothing that was signed elsewhere")
	}
	return p.Position, s.Signatures.Deliver(tx, p.Host, p.Signed)
}

// lacks gives a function that takes what was signed for a host from what is known of it, where that cannot become its target, and says why.
func (s *Service) lacks(rev *declaration, d *Deployment, epoch uint64, told *hostView, now time.Time) func(*Enrolled, *Look) {
	return func(e *Enrolled, l *Look) {
		if l.Prepared == nil && rev != nil && !rev.declares(e.Name) && !d.Empty { // nobody signs that it goes unless that is meant
			l.Prepared = &Prepared{Host: e.ID, Revision: d.Revision, Absent: true, Empty: true}
			return
		}
		if l.Unsigned = s.unsigned(l.Prepared, e, l, epoch, told, now); l.Unsigned != "" {
			l.Prepared = nil
		}
	}
}

// hasContent reports whether a content is kept.
func (s *Service) hasContent(ctx context.Context, c trust.Content) (bool, error) {
	in, size, err := s.Contents.Open(ctx, contents.Digest(c.SHA256.String()), 0)
	if errors.Is(err, contents.ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return size == c.Size, in.Close()
}

// takeSigned has hosts whose targets were signed elsewhere, or all where the server may not sign, go to what is signed for them of a revision. It gives
// those for which the server evaluates. Where something would have to be signed anew, there is an error.
func (s *Service) takeSigned(ctx context.Context, d *Deployment, group []*pinTarget) (others []*pinTarget, err error) {
	if s.Options.Signatures == nil {
		return group, nil
	}
	mayNot := s.mayAssign()
	var enrolled []Enrolled
	for _, p := range group {
		enrolled = append(enrolled, p.Enrolled)
	}
	told := s.look(enrolled, d.Site)
	err = s.Store.Read(ctx, func(r store.Reader) error {
		others = nil
		signed := map[trust.ID]*Prepared{}
		if err := each(r, signedTable, d.Site, d.Revision, func(id trust.ID, p *Prepared) {
			p.Read = Reads{} // a person asks for it as it was
			signed[id] = p
		}); err != nil {
			return err
		}
		first, err := s.Signatures.Next(r, "", d.Site)
		if err != nil {
			return err
		}
		for _, p := range group {
			if mayNot == nil && p.target.Key.IsZero() {
				others = append(others, p)
				continue
			}
			one := signed[p.ID]
			why := "nothing is signed for it of that revision"
			if one != nil {
				look := &Look{Target: &p.target.Target, Prepared: one, Loop: told.loops[p.ID], Void: s.isVoid()(p.target)}
				why = s.unsigned(one, &p.Enrolled, look, first.Epoch, told, s.now())
			}
			if why != "" {
				return &diag.HintError{Code: ErrSign, Message: fmt.Sprintf("%s cannot go to revision %d by itself, since an operator signs for it: %s", p.Name, d.Number, why),
					Hint: "deploy the files of that revision again: tenet deploy --sign KEY"}
			}
			p.prepared = one
		}
		return nil
	})
	return others, err
}
