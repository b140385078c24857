// Package signing evaluates a site and signs what comes out in the place of a server, for an operator who does not want to trust one: with facts as
// their hosts have signed them, and encrypted to keys that their identities certify. What a server says is believed in nothing but this: which hosts there
// are under which names, which the operator's own known hosts hold it to, and which positions come next, which have to grow.
//
// What was signed before is kept in a Memory, so that neither older facts nor older keys are taken for new ones later, and so that of two assignments of one host
// the later always comes after the earlier.
package signing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
	langsite "github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/evaluate"
)

// Codes of errors.
const (
	CodeForged = "forged" // what the server gives was not signed by the host that it is said to be of
	CodeEmpty  = "empty"  // nothing would be wanted of a host
	// CodeCluster: the site has a cluster, of which only the server could say who has joined.
	CodeCluster = "cluster"
)

// Validity is how long what is signed counts: a host that is away longer has to be signed for again.
const Validity = 90 * 24 * time.Hour

// Signer signs.
type Signer struct {
	Key        trust.PrivateKey
	Identities func() ([]secrets.Identity, error)   // that open the site's secrets
	Known      func(name string, id trust.ID) error // refuses another host than the one that had the name before
	Memory     *Memory                              // of what was signed before
	Empty      bool                                 // that nothing is wanted of a host any more is meant, or that one is not declared any more
	Program    string                               // the version of this program
	Now        func() time.Time                     // nil: time.Now
	Evaluation func(evaluate func() error) error    // limits an evaluation; nil: nothing does
}

// Signed is what was evaluated and signed.
type Signed struct {
	Hosts    []SignedHost
	Contents []Content         // each once
	Waiting  map[string]string // hosts for which nothing was signed, with the reason
}

// SignedHost is what was signed for a host, as a server takes it.
type SignedHost struct {
	Host       trust.ID         `json:"host"`
	Assignment *trust.Signed    `json:"assignment"`
	Empty      bool             `json:"empty,omitempty"`
	Read       []evaluate.Value `json:"read,omitempty"`
	evaluate.Composition
	Name string `json:"-"` // as the operator knows it; the server has its own

	contents []trust.Digest
}

// Content is a file that hosts need, or what is encrypted to one.
type Content struct {
	trust.Content
	Data []byte
	File string // where Data is nil
}

// member is a host whose own words were verified.
type member struct {
	*client.SigningHost
	sealing string
	memory  HostMemory
	facts   map[string]json.RawMessage
	outputs map[string]json.RawMessage
}

// Sign evaluates the files of a revision, in a folder, for the hosts of a Signing, and signs what is wanted of them. Contents are left in another folder.
func (s *Signer) Sign(ctx context.Context, q client.Signing, dir, out string) (*Signed, error) {
	var members []*member
	names, ids := map[string]bool{}, map[trust.ID]string{}
	for i := range q.Hosts {
		m, err := s.verify(q.Site, &q.Hosts[i])
		if err != nil {
			return nil, err
		}
		if names[m.Name] {
			return nil, &diag.HintError{Code: CodeForged, Message: "the server names two hosts " + diag.Clean(m.Name, "", '�'), Hint: "tenet host list"}
		}
		if other, isNamed := ids[m.ID]; isNamed { // it would have two assignments of one position
			return nil, &diag.HintError{Code: CodeForged, Message: fmt.Sprintf("the server names one host %s and %s", diag.Clean(other, "", '�'), diag.Clean(m.Name, "", '�')), Hint: "tenet host list"}
		}
		names[m.Name], ids[m.ID] = true, m.Name
		members = append(members, m)
	}
	answer, err := s.evaluate(ctx, q.Site, members, dir, out)
	if err != nil {
		return nil, err
	}
	return s.signAll(q, members, answer, out)
}

// verify refuses what a host has not signed itself, or what is older than what is known of it.
func (s *Signer) verify(site string, h *client.SigningHost) (*member, error) {
	forged := func(what string, err error) error {
		return &diag.HintError{Code: CodeForged, Message: fmt.Sprintf("the server gives %s of %s that are not to be believed: %v", what, diag.Clean(h.Name, "", '�'), err),
			Hint: "nothing was signed; if the host has not lost its state, somebody may have taken the server over"}
	}
	if h.Keys == nil {
		return nil, forged("keys", errors.New("there are none"))
	}
	keys, err := trust.OpenHostKeys(h.Keys, nil)
	if err == nil && keys.Identity.ID() != h.ID {
		err = fmt.Errorf("they are those of the host %s, and not of %s", keys.Identity.ID().Short(), h.ID.Short())
	}
	if err != nil {
		return nil, forged("keys", err)
	}
	if err := s.Known(h.Name, h.ID); err != nil {
		return nil, err
	}
	m := &member{SigningHost: h, sealing: keys.Sealing}
	if m.memory, err = s.Memory.Host(h.ID); err != nil {
		return nil, err
	}
	if err := m.memory.note("keys", keys.Number, h.Keys); err != nil {
		return nil, forged("keys", err)
	}
	if m.facts, err = m.openFacts(keys.Identity); err != nil {
		return nil, forged("facts", err)
	}
	if m.outputs, err = m.openOutputs(keys.Identity, site); err != nil {
		return nil, forged("outputs", err)
	}
	return m, nil
}

func (m *member) openFacts(by trust.PublicKey) (map[string]json.RawMessage, error) {
	if m.Facts == nil {
		return nil, m.memory.checkMissing("facts")
	}
	r, err := trust.Open[control.FactsReport](m.Facts, trust.KindReport, by)
	if err == nil && r.Host != m.ID {
		err = errors.New("they are those of another host")
	}
	if err == nil {
		err = m.memory.note("facts", r.Number, m.Facts)
	}
	if err != nil {
		return nil, err
	}
	return r.Facts, nil
}

func (m *member) openOutputs(by trust.PublicKey, site string) (map[string]json.RawMessage, error) {
	if m.Outputs == nil {
		return nil, m.memory.checkMissing("outputs of " + site)
	}
	r, err := trust.Open[control.OutputsReport](m.Outputs, trust.KindOutputs, by)
	if err == nil && (r.Host != m.ID || r.Site != site) {
		err = errors.New("they are those of another host or site")
	}
	if err == nil {
		err = m.memory.note("outputs of "+site, r.Number, m.Outputs)
	}
	if err != nil {
		return nil, err
	}
	return r.Values, nil
}

// evaluate evaluates the site for those that are chosen and have told facts.
func (s *Signer) evaluate(ctx context.Context, site string, members []*member, dir, out string) (answer *evaluate.Answer, err error) {
	q := evaluate.Question{Dir: dir, Out: out, Origin: "server:" + site, AllowEmpty: s.Empty, Program: s.Program, Facts: map[string]map[string]json.RawMessage{}, Outputs: map[string]map[string]json.RawMessage{},
		Joined: map[string][]string{}} // see refuseClusters
	for _, m := range members {
		if m.facts != nil {
			q.Facts[m.Name] = m.facts
		}
		if m.outputs != nil {
			q.Outputs[m.Name] = m.outputs
		}
		if m.isEvaluated() {
			q.Hosts = append(q.Hosts, evaluate.Recipient{Name: m.Name, Sealing: m.sealing})
		}
	}
	run := func() (err error) {
		answer, err = evaluate.Here(ctx, q, s.Identities)
		return err
	}
	if s.Evaluation != nil {
		err = s.Evaluation(run)
	} else {
		err = run()
	}
	if err == nil && answer.Name != site {
		err = &diag.HintError{Code: evaluate.CodeSite, Message: fmt.Sprintf("the files are the site %.100q, not %.100q", answer.Name, site)}
	}
	if err == nil && answer.Error == "" {
		err = refuseClusters(answer.Clusters)
	}
	return answer, err
}

// refuseClusters refuses a site with clusters that are to be present. All members of one join at once, when the last of them comes, and each is told then who the others are:
// what it gets would have to be signed then, of hosts that nobody but the server has seen. Signed without, it would take away what was rolled out before.
func refuseClusters(clusters []langsite.Cluster) error {
	var names []string
	for _, c := range clusters {
		if !c.Absent {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &diag.HintError{Code: CodeCluster, Message: "what is signed here rolls out no clusters, and the site has " + strings.Join(names, ", "),
		Hint: `who has joined a cluster is known only to the server, which is not believed here: deploy such a site without --sign, or give its clusters ensure = "absent"`}
}

// isEvaluated reports whether the site is evaluated for a host.
func (m *member) isEvaluated() bool { return m.Chosen && (m.facts != nil || !m.Declared) }
