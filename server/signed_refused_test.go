package server

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/signing"
)

// signedUpload is what somebody sends as signed, and has changed.
type signedUpload struct {
	*signedPlace
	key      trust.PrivateKey // signs what is changed
	hosts    []signing.SignedHost
	contents map[string][]byte // by name
}

func (p *signedPlace) change(s *signing.Signed) *signedUpload {
	u := &signedUpload{signedPlace: p, key: p.key, hosts: slices.Clone(s.Hosts), contents: map[string][]byte{}}
	for _, c := range s.Contents {
		u.contents["contents/"+c.SHA256.String()] = c.Data
	}
	return u
}

// sign signs another assignment of a host.
func (u *signedUpload) sign(i int, change func(*trust.Assignment)) {
	u.t.Helper()
	var a trust.Assignment
	must(u.t, json.Unmarshal(u.hosts[i].Assignment.Content, &a))
	change(&a)
	signed, err := trust.Sign(trust.KindAssignment, a, u.key)
	must(u.t, err)
	u.hosts[i].Assignment = signed
}

func (u *signedUpload) archive() []byte {
	u.t.Helper()
	list, err := json.Marshal(u.hosts)
	must(u.t, err)
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name string, data []byte) {
		must(u.t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), Typeflag: tar.TypeReg}))
		must(u.t, err2(w.Write(data)))
	}
	add("assignments.json", list)
	for name, data := range u.contents {
		add(name, data)
	}
	must(u.t, w.Close())
	return out.Bytes()
}

func (u *signedUpload) content() string {
	for name := range u.contents {
		return name
	}
	u.t.Fatal("there are no contents")
	return ""
}

// refusals are what cannot be uploaded, with the code of the error and some of its text.
var refusals = map[string]struct {
	change     func(u *signedUpload)
	code, want string
}{
	"hosts swapped": {func(u *signedUpload) { u.hosts[0].Host, u.hosts[1].Host = u.hosts[1].Host, u.hosts[0].Host }, deploy.ErrSignature, "it is for the host"},
	"assignment altered": {func(u *signedUpload) {
		c := *u.hosts[0].Assignment
		c.Content = bytes.Replace(c.Content, []byte(`"n":`), []byte(`"n":9`), 1)
		u.hosts[0].Assignment = &c
	}, deploy.ErrSignature, "no key that may assign has signed it"},
	"key of a stranger":  {func(u *signedUpload) { u.key, _ = trust.GenerateKey(); u.sign(1, func(*trust.Assignment) {}) }, deploy.ErrSignature, "no key that may assign has signed it"},
	"no assignment":      {func(u *signedUpload) { u.hosts[1].Assignment = nil }, deploy.ErrInvalid, "has no assignment"},
	"host nobody knows":  {func(u *signedUpload) { u.hosts[0].Host = trust.ID(strings.Repeat("b", 51) + "a") }, deploy.ErrInvalid, "not enrolled"},
	"components twice":   {func(u *signedUpload) { u.hosts[0].Components = []string{"web", "web"} }, deploy.ErrInvalid, "not each named once"},
	"no name of a run":   {func(u *signedUpload) { u.hosts[0].Run = strings.Repeat("x", 201) }, deploy.ErrInvalid, "more than 200 bytes"},
	"no hosts":           {func(u *signedUpload) { u.hosts = nil }, deploy.ErrInvalid, "it is for 0 hosts"},
	"content altered":    {func(u *signedUpload) { d := u.contents[u.content()]; d[len(d)-1] ^= 1 }, deploy.ErrInvalid, "is another content"},
	"content cut":        {func(u *signedUpload) { n := u.content(); u.contents[n] = u.contents[n][1:] }, deploy.ErrInvalid, "no assignment names"},
	"content missing":    {func(u *signedUpload) { delete(u.contents, u.content()) }, deploy.ErrInvalid, "was not uploaded"},
	"content of nothing": {func(u *signedUpload) { u.contents["contents/"+trust.DigestOf(nil).String()] = nil }, deploy.ErrInvalid, "no assignment names"},
	"name that escapes":  {func(u *signedUpload) { u.contents["contents/../../x"] = []byte("x") }, deploy.ErrInvalid, "no assignment names"},
	"another size":       {func(u *signedUpload) { u.sign(0, func(a *trust.Assignment) { a.Bundle.Size++ }) }, deploy.ErrInvalid, "no assignment names"},
	"another site":       {func(u *signedUpload) { u.sign(0, func(a *trust.Assignment) { a.Site = "mail" }) }, deploy.ErrInvalid, "revision 1 of \"mail\""},
	"another revision":   {func(u *signedUpload) { u.sign(0, func(a *trust.Assignment) { a.Revision = "7" }) }, deploy.ErrInvalid, "revision 7 of \"shop\""},
	"another recipient": {func(u *signedUpload) {
		k, _ := age.GenerateX25519Identity()
		u.sign(0, func(a *trust.Assignment) { a.Recipient = k.Recipient().String() })
	}, deploy.ErrInvalid, "another key than the host has"},
	"absence": {func(u *signedUpload) {
		u.sign(0, func(a *trust.Assignment) { a.Absent, a.Bundle, a.Files = true, trust.Content{}, nil })
		clear(u.contents)
		u.hosts = u.hosts[:1]
	}, deploy.ErrInvalid, "that the revision declares it"},
	"no position":   {func(u *signedUpload) { u.sign(0, func(a *trust.Assignment) { a.N = 0 }) }, deploy.ErrSignature, "begin at 1"},
	"next epoch":    {func(u *signedUpload) { u.sign(0, func(a *trust.Assignment) { a.Epoch++ }) }, deploy.ErrInvalid, "another epoch"},
	"last position": {func(u *signedUpload) { u.sign(0, func(a *trust.Assignment) { a.N = 1<<62 + 1 }) }, deploy.ErrInvalid, "leaves none"},
	"expired":       {func(u *signedUpload) { u.sign(0, func(a *trust.Assignment) { a.Until = time.Now().Add(-time.Minute) }) }, deploy.ErrInvalid, "which is over"},
	"for ever":      {func(u *signedUpload) { u.sign(0, func(a *trust.Assignment) { a.Until = time.Now().AddDate(2, 0, 0) }) }, deploy.ErrInvalid, "days off"},
}

// What was signed and is changed on its way, by whoever may not sign or for what it does not say, is refused by its error. Nothing of it is kept, whether or not the rest is right.
func TestSignedRefused(t *testing.T) {
	p := newSignedPlace(t, "web1", "web2")
	p.take(requests()...)
	files := p.files("one")
	r := p.upload(files)
	asked := p.signing(r)
	for name, one := range refusals {
		s, err := p.sign(files, asked, nil)
		must(t, err)
		u := p.change(s)
		one.change(u)
		if err := p.ops.SendAssignments(t.Context(), "shop", r.Number, u.archive()); code(err) != one.code || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s: %v (%s), and not %s: %s", name, err, code(err), one.code, one.want)
		}
	}
	s, err := p.sign(files, asked, nil)
	must(t, err)
	archive := p.change(s).archive()
	for name, c := range map[string]*client.Client{"deploys to web1 alone": p.person("half", "read@*", "deploy@web1"), "reads": p.person("reader", "read@*")} {
		if err := c.SendAssignments(t.Context(), "shop", r.Number, archive); code(err) != access.CodeForbidden {
			t.Errorf("somebody who %s: %v", name, err)
		}
	}
	for name, data := range map[string][]byte{"nothing": {}, "no archive": []byte("hello"), "a site": tarOf(t, "site.hcl", "x"), "no list": tarOf(t, "assignments.json", `{"a":1}`)} {
		if err := p.ops.SendAssignments(t.Context(), "shop", r.Number, data); code(err) != deploy.ErrInvalid {
			t.Errorf("%s: %v (%s)", name, err, code(err))
		}
	}
	if n := len(p.audit(access.AuditFilter{Action: "assignment.sign"})); n != 0 {
		t.Errorf("%d were kept", n)
	}

	// What is right is taken, but only until it is wanted of the hosts: then it was.
	must(t, p.ops.SendAssignments(t.Context(), "shop", r.Number, archive))
	d, err := p.ops.Deploy(t.Context(), client.DeployRequest{Site: "shop", Revision: r.Number, Signed: true})
	must(t, err)
	p.awaitPhase(d.ID, "it is done", isDone)
	if err := p.ops.SendAssignments(t.Context(), "shop", r.Number, archive); code(err) != deploy.ErrInvalid || !strings.Contains(err.Error(), "does not come after") {
		t.Errorf("the same again: %v", err)
	}
	u := p.change(s)
	u.sign(0, func(a *trust.Assignment) { a.N-- })
	if err := p.ops.SendAssignments(t.Context(), "shop", r.Number, u.archive()); code(err) != deploy.ErrInvalid || !strings.Contains(err.Error(), "does not come after") {
		t.Errorf("an earlier position: %v", err)
	}
	if n := len(p.audit(access.AuditFilter{Action: "assignment.sign"})); n != 2 {
		t.Errorf("%d were kept", n)
	}
}

func tarOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	must(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg}))
	must(t, err2(w.Write([]byte(text))))
	must(t, w.Close())
	return out.Bytes()
}
