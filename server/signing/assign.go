package signing

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/evaluate"
)

// signAll signs what an evaluation gives, after all of it was looked at: where the site is wrong for a host, nothing is signed.
func (s *Signer) signAll(q client.Signing, members []*member, answer *evaluate.Answer, out string) (*Signed, error) {
	results := map[string]*evaluate.Result{}
	var wrong, empty []string
	for i := range answer.Results {
		r := &answer.Results[i]
		results[r.Host] = r
		if r.Error != "" {
			wrong = append(wrong, r.Host+": "+r.Error)
		}
		if r.Empty && !r.Absent && !s.Empty {
			empty = append(empty, r.Host)
		}
	}
	if len(wrong) > 0 {
		return nil, &diag.HintError{Code: evaluate.CodeSite, Message: "the site is wrong for " + strings.Join(wrong, "; "), Hint: "mend it; nothing was signed"}
	}
	if len(empty) > 0 {
		return nil, &diag.HintError{Code: CodeEmpty, Message: "nothing would be wanted any more of " + strings.Join(empty, ", "), Hint: "--empty says that this is meant; nothing was signed"}
	}
	isDeclared := map[string]bool{} // with an agent
	for i := range answer.Hosts {
		isDeclared[answer.Hosts[i].Name] = answer.Hosts[i].Executor == "agent"
	}
	signed := &Signed{Waiting: map[string]string{}}
	seen := map[trust.Digest]bool{}
	for _, m := range members {
		if !m.Chosen {
			continue
		}
		r := results[m.Name]
		switch {
		case !isDeclared[m.Name] && !s.Empty:
			signed.Waiting[m.Name] = "the site does not declare it any more: --empty says that this is meant"
		case !isDeclared[m.Name] && (r == nil || !r.Absent):
			signed.Waiting[m.Name] = "the site does not have it reached by its agent any more"
		case r == nil:
			signed.Waiting[m.Name] = "it has told no facts yet"
		case len(r.Waits) > 0:
			signed.Waiting[m.Name] = "it reads what others have not given and signed yet: " + strings.Join(r.Waits, ", ")
		default:
			if err := s.signOne(q, m, r, signed, seen, out); err != nil {
				return nil, err
			}
		}
	}
	return signed, s.Memory.Keep(members)
}

// signOne signs what is wanted of a host.
func (s *Signer) signOne(q client.Signing, m *member, r *evaluate.Result, to *Signed, seen map[trust.Digest]bool, out string) error {
	at, err := m.memory.next(q.Site, m.Position)
	if err != nil {
		return &diag.HintError{Code: CodeForged, Message: fmt.Sprintf("the server gives %s a position that cannot be: %v", diag.Clean(m.Name, "", '�'), err), Hint: "nothing was signed"}
	}
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	a := &trust.Assignment{Format: trust.AssignmentFormat, Host: m.ID, Site: q.Site, Position: at, Revision: fmt.Sprint(q.Revision), Identity: r.Identity, Absent: r.Absent,
		Recipient: m.sealing, Files: r.Files, Program: s.Program, Until: now().Add(Validity).UTC()}
	h := SignedHost{Host: m.ID, Empty: r.Empty, Read: r.Read, Composition: r.Composition(), Name: m.Name}
	if !r.Absent {
		a.Bundle = trust.Content{SHA256: trust.DigestOf(r.Sealed), Size: int64(len(r.Sealed))}
		to.add(seen, Content{Content: a.Bundle, Data: r.Sealed})
		h.contents = append(h.contents, a.Bundle.SHA256)
		for _, f := range r.Files {
			to.add(seen, Content{Content: f, File: filepath.Join(out, f.SHA256.String())})
			h.contents = append(h.contents, f.SHA256)
		}
	}
	if err := a.Check(); err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	if h.Assignment, err = trust.Sign(trust.KindAssignment, a, s.Key); err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	to.Hosts = append(to.Hosts, h)
	return nil
}

func (to *Signed) add(seen map[trust.Digest]bool, c Content) {
	if !seen[c.SHA256] {
		seen[c.SHA256] = true
		to.Contents = append(to.Contents, c)
	}
}
