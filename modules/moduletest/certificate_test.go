package moduletest_test

import (
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules/certificate"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const (
	certificateAt  = "/etc/ssl/site.pem"
	certificateKey = "/etc/ssl/private/site.key"
)

func today() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func newCertificateHost(t *testing.T) host.Host {
	h := fake.Host(t)
	h.SetClock(today())
	return h
}

func certificateValues(more map[string]any) map[string]any {
	v := map[string]any{"path": certificateAt, "private_key": certificateKey, "common_name": "example.test"}
	maps.Copy(v, more)
	return v
}

// carryOut issues a certificate, as prior to a case.
func carryOut(t *testing.T, h host.Host, values map[string]any) {
	t.Helper()
	m, ctx := certificate.Module, t.Context()
	want, err := m.Decode(values, nil)
	if err == nil {
		err = m.Check(want)
	}
	if err == nil {
		want, err = m.Complete(ctx, h, want)
	}
	if err == nil {
		err = m.Write(ctx, h, nil, m.Fill(nil, want))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func issued(more map[string]any) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { carryOut(t, h, certificatePlain(certificateValues(more))) }
}

func keyMeta(m host.Meta) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		if err := h.SetMeta(certificateKey, m); err != nil {
			t.Fatal(err)
		}
	}
}

func keyIs(mode fs.FileMode, uid int) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if info, err := h.Lstat(certificateKey); err != nil || info.Mode != mode || info.UID != uid {
			t.Errorf("the key is %+v, %v", info, err)
		}
	}
}

// certificatePlain gives lists the form that they have in a site.
func certificatePlain(values map[string]any) map[string]any {
	for name, v := range values {
		if list, ok := v.([]string); ok {
			out := []any{}
			for _, s := range list {
				out = append(out, s)
			}
			values[name] = out
		}
	}
	return values
}

func parsed(t *testing.T, h host.Host, name string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(fake.Text(h, name)))
	if block == nil {
		t.Fatalf("%s holds no PEM", name)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func authority(t *testing.T, h host.Host) {
	carryOut(t, h, map[string]any{
		"path": "/etc/ssl/ca.pem", "private_key": "/etc/ssl/private/ca.key", "common_name": "CA", "authority": true, "days": "3650",
	})
}

// intermediate is an authority that the first one has signed.
func intermediate(t *testing.T, h host.Host) {
	carryOut(t, h, map[string]any{
		"path": "/etc/ssl/sub.pem", "private_key": "/etc/ssl/private/sub.key", "common_name": "Sub", "authority": true, "days": "1000",
		"ca": "/etc/ssl/ca.pem", "ca_key": "/etc/ssl/private/ca.key",
	})
}

// certificateWith is a copy with one more value; nil: with one less.
func certificateWith(values map[string]any, name string, value any) map[string]any {
	values = maps.Clone(values)
	if values[name] = value; value == nil {
		delete(values, name)
	}
	return values
}

func TestCertificate(t *testing.T) {
	t.Parallel()
	signed := map[string]any{"ca": "/etc/ssl/ca.pem", "ca_key": "/etc/ssl/private/ca.key"}
	both := func(before ...func(*testing.T, host.Host)) func(*testing.T, host.Host) {
		return func(t *testing.T, h host.Host) {
			for _, f := range before {
				f(t, h)
			}
		}
	}
	later := func(days int) func(*testing.T, host.Host) {
		return func(_ *testing.T, h host.Host) { h.(*host.Memory).SetClock(today().AddDate(0, 0, days)) }
	}
	chained := map[string]any{"ca": "/etc/ssl/sub.pem", "ca_key": "/etc/ssl/private/sub.key", "chain": true}
	create := []string{"request", "common_name", "names", "algorithm", "mode"}
	statestest.Run(t, statestest.Suite{
		Module: certificate.Module, Host: newCertificateHost,
		Hostile: certificateValues(map[string]any{"names": []string{"example.test"}, "addresses": []string{"192.0.2.1"}, "usage": []string{"server"}}),
		Cases: []statestest.Case{
			{
				Name: "create", Values: certificateValues(nil), Action: states.Create, Changes: create,
				Check: func(t *testing.T, h host.Host, out map[string]any) {
					c := parsed(t, h, certificateAt)
					if err := c.VerifyHostname("example.test"); err != nil {
						t.Error(err)
					}
					if info, err := h.Lstat(certificateKey); err != nil || info.Mode != 0o600 {
						t.Errorf("the key is %+v, %v", info, err)
					}
					if out["expires"] != "2027-03-01T12:00:00Z" || !c.NotBefore.Before(today()) {
						t.Errorf("it is valid from %s to %s", c.NotBefore, out["expires"])
					}
				},
			}, {
				Name: "create with all attributes",
				Values: certificateValues(map[string]any{"organization": "Example", "names": []string{"b.test", "*.a.test"}, "addresses": []string{"2001:db8::1", "192.0.2.1"},
					"usage": []string{"server", "client"}, "authority": false, "algorithm": "ed25519", "owner": "alice", "group": "adm", "mode": "0640", "key_mode": "0640", "days": 10}),
				Action:  states.Create,
				Changes: []string{"request", "common_name", "organization", "names", "addresses", "usage", "authority", "algorithm", "owner", "group", "mode", "key_mode"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					for _, host := range []string{"b.test", "x.a.test", "[2001:db8::1]", "192.0.2.1"} {
						if err := parsed(t, h, certificateAt).VerifyHostname(host); err != nil {
							t.Error(err)
						}
					}
				},
			}, {
				Name: "a request", Values: certificateValues(map[string]any{"request": true}), Action: states.Create, Changes: create,
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if !strings.HasPrefix(fake.Text(h, certificateAt), "-----BEGIN CERTIFICATE REQUEST-----") {
						t.Error("it is none")
					}
				},
			}, {
				Name: "signed by an authority", Prepare: authority, Values: certificateValues(signed), Action: states.Create, Changes: create,
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if err := parsed(t, h, certificateAt).CheckSignatureFrom(parsed(t, h, "/etc/ssl/ca.pem")); err != nil {
						t.Error(err)
					}
				},
			},
			{
				Name: "with its chain", Prepare: both(authority, intermediate), Values: certificateValues(chained), Action: states.Create, Changes: []string{"request", "common_name", "names", "algorithm", "chain", "mode"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					_, behind, _ := strings.Cut(fake.Text(h, certificateAt), "-----END CERTIFICATE-----\n")
					if behind == "" || behind != fake.Text(h, "/etc/ssl/sub.pem") {
						t.Errorf("behind it stands %q", behind)
					}
				},
			},
			{Name: "the chain of what signs itself", Prepare: authority, Values: certificateValues(certificateWith(signed, "chain", true)), Action: states.Create, Changes: []string{"request", "common_name", "names", "algorithm", "chain", "mode"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if n := strings.Count(fake.Text(h, certificateAt), "BEGIN"); n != 1 {
						t.Errorf("it holds %d certificates", n)
					}
				}},
			{Name: "nothing to do for a chain", Prepare: both(authority, intermediate, issued(maps.Clone(chained))), Values: certificateValues(chained)},
			{Name: "nothing to do for a chain that is not asked for", Prepare: both(authority, intermediate, issued(maps.Clone(chained))), Values: certificateValues(certificateWith(chained, "chain", nil))},
			{Name: "a chain now", Prepare: both(authority, intermediate, issued(certificateWith(chained, "chain", nil))), Values: certificateValues(chained), Action: states.Update, Changes: []string{"chain"}},
			{Name: "no chain now", Prepare: both(authority, intermediate, issued(maps.Clone(chained))), Values: certificateValues(certificateWith(chained, "chain", false)), Action: states.Update, Changes: []string{"chain"}},
			{Name: "another chain", Prepare: both(authority, intermediate, issued(maps.Clone(chained)), func(t *testing.T, h host.Host) {
				fake.Put(t, h, certificateAt, fake.Text(h, certificateAt)+fake.Text(h, "/etc/ssl/sub.pem"), 0o644)
			}), Values: certificateValues(chained), Action: states.Update, Changes: []string{"chain"}},
			{Name: "a chain without an authority", Values: certificateValues(map[string]any{"chain": true}), Wrong: "only beside ca"},
			{Name: "nothing to do", Prepare: issued(nil), Values: certificateValues(nil)},
			{Name: "nothing to do for what is signed", Prepare: both(authority, issued(signed)), Values: certificateValues(signed)},
			{Name: "nothing to do for a request", Prepare: both(issued(map[string]any{"request": true}), later(1000)), Values: certificateValues(map[string]any{"request": true})},
			{Name: "not due yet", Prepare: both(issued(nil), later(334)), Values: certificateValues(nil)},
			{Name: "another name", Prepare: issued(nil), Values: certificateValues(map[string]any{"names": []string{"www.example.test"}}), Action: states.Update, Changes: []string{"names"}},
			{Name: "another address", Prepare: issued(nil), Values: certificateValues(map[string]any{"names": []string{"example.test"}, "addresses": []string{"192.0.2.1"}}), Action: states.Update, Changes: []string{"addresses"}},
			{Name: "another common name", Prepare: issued(nil), Values: certificateValues(map[string]any{"common_name": "An Example", "names": []string{"example.test"}}), Action: states.Update, Changes: []string{"common_name"}},
			{Name: "another organization", Prepare: issued(nil), Values: certificateValues(map[string]any{"organization": "O"}), Action: states.Update, Changes: []string{"organization"}},
			{Name: "another usage", Prepare: issued(nil), Values: certificateValues(map[string]any{"usage": []string{"client"}}), Action: states.Update, Changes: []string{"usage"}},
			{Name: "an authority now", Prepare: issued(nil), Values: certificateValues(map[string]any{"authority": true}), Action: states.Update, Changes: []string{"authority"}},
			{Name: "a request now", Prepare: issued(nil), Values: certificateValues(map[string]any{"request": true}), Action: states.Update, Changes: []string{"request"}},
			{Name: "another algorithm", Prepare: issued(nil), Values: certificateValues(map[string]any{"algorithm": "ecdsa-p384"}), Action: states.Update, Changes: []string{"algorithm"}},
			{Name: "another owner and mode", Prepare: issued(nil), Values: certificateValues(map[string]any{"owner": "alice", "key_mode": "0640"}), Action: states.Update, Changes: []string{"owner", "key_mode"}},
			{
				Name: "a key that all may read", Prepare: both(issued(nil), keyMeta(host.Meta{Mode: new(fs.FileMode(0o644))})), Values: certificateValues(nil),
				Action: states.Update, Changes: []string{"key_mode"}, Check: keyIs(0o640, 0),
			}, {
				Name: "a key of somebody else", Prepare: both(issued(map[string]any{"owner": "alice"}), keyMeta(host.Meta{UID: new(0)})),
				Values: certificateValues(map[string]any{"owner": "alice"}), Action: states.Update, Changes: []string{"owner"}, Check: keyIs(0o600, 1000),
			},
			{
				Name: "that of another account", Prepare: both(issued(nil), func(t *testing.T, h host.Host) {
					fake.Alice(t, h, certificateAt, 0o666|fs.ModeSetuid)
					fake.Alice(t, h, certificateKey, 0o660)
				}),
				Values: certificateValues(map[string]any{"owner": "root"}), Action: states.Update, Changes: []string{"owner", "mode", "key_mode"},
				Check: func(t *testing.T, h host.Host, out map[string]any) {
					fake.HasMode(certificateAt, 0, 0o644)(t, h, out)
					fake.HasMode(certificateKey, 0, 0o640)(t, h, out)
				},
			},
			{Name: "signed now", Prepare: both(authority, issued(nil)), Values: certificateValues(signed), Action: states.Update, Changes: []string{"issuer"}},
			{Name: "by itself now", Prepare: both(authority, issued(signed)), Values: certificateValues(nil), Action: states.Update, Changes: []string{"issuer"}},
			{Name: "due", Prepare: both(issued(nil), later(335)), Values: certificateValues(nil), Action: states.Update, Changes: []string{"expires"}},
			{Name: "expired", Prepare: both(issued(map[string]any{"days": "3"}), later(9)), Values: certificateValues(map[string]any{"days": 3}), Action: states.Update, Changes: []string{"expires"}},
			{
				Name: "without its key", Prepare: both(issued(nil), func(t *testing.T, h host.Host) {
					if err := h.Remove(certificateKey); err != nil {
						t.Fatal(err)
					}
				}), Values: certificateValues(nil), Action: states.Update, Changes: []string{"private_key"},
			}, {
				Name: "with another key", Prepare: both(issued(nil), func(t *testing.T, h host.Host) {
					carryOut(t, h, map[string]any{"path": "/etc/ssl/other.pem", "private_key": "/etc/ssl/other.key"})
					fake.Put(t, h, certificateKey, fake.Text(h, "/etc/ssl/other.key"), 0o600)
				}), Values: certificateValues(nil), Action: states.Update, Changes: []string{"private_key"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if fake.Text(h, certificateKey) != fake.Text(h, "/etc/ssl/other.key") {
						t.Error("the key that was there is lost")
					}
				},
			}, {
				Name: "absent", Ensure: states.Absent, Prepare: issued(nil), Values: map[string]any{"path": certificateAt, "private_key": certificateKey},
				Action: states.Remove, Changes: []string{"request", "common_name", "organization", "names", "addresses", "usage", "authority", "algorithm", "mode", "key_mode"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if fake.Exists(h, certificateKey) {
						t.Error("the key is still there")
					}
				},
			}, {
				Name: "absent, and the key is another's", Ensure: states.Absent, Values: map[string]any{"path": certificateAt, "private_key": "/etc/ssl/other.key"},
				Prepare: both(issued(nil), func(t *testing.T, h host.Host) {
					carryOut(t, h, map[string]any{"path": "/etc/ssl/other.pem", "private_key": "/etc/ssl/other.key"})
				}),
				Action: states.Remove, Changes: []string{"request", "common_name", "organization", "names", "addresses", "usage", "authority", "algorithm", "mode", "key_mode"},
				Check: func(t *testing.T, h host.Host, _ map[string]any) {
					if !fake.Exists(h, "/etc/ssl/other.key") {
						t.Error("the key of another is gone")
					}
				},
			},
		},
	})
}

func TestCertificateFails(t *testing.T) {
	t.Parallel()
	put := func(name, text string) func(*testing.T, host.Host) {
		return func(t *testing.T, h host.Host) { fake.Put(t, h, name, text, 0o600) }
	}
	const secret = "c2VjcmV0c2VjcmV0"
	pair := func(ca, caKey string) map[string]any {
		return certificateValues(map[string]any{"ca": ca, "ca_key": caKey})
	}
	statestest.Run(t, statestest.Suite{Module: certificate.Module, Host: newCertificateHost, Cases: []statestest.Case{
		{Name: "no certificate", Prepare: put(certificateAt, "text"), Values: certificateValues(nil), Fails: "holds no certificate in PEM, and is not replaced"},
		{Name: "a damaged one", Prepare: put(certificateAt, "-----BEGIN CERTIFICATE-----\n"+secret+"\n-----END CERTIFICATE-----\n"), Values: certificateValues(nil), Fails: "damaged certificate"},
		{Name: "no key", Prepare: put(certificateKey, "text"), Values: certificateValues(nil), Fails: "holds no private key in PEM, and is not replaced"},
		{Name: "a damaged key", Prepare: put(certificateKey, "-----BEGIN PRIVATE KEY-----\n"+secret+"\n-----END PRIVATE KEY-----\n"), Values: certificateValues(nil), Fails: "cannot be used"},
		{Name: "a link to a key", Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/etc/passwd", certificateKey) }, Values: certificateValues(nil), Fails: "is a symlink, not a private key"},
		{Name: "a directory", Values: map[string]any{"path": "/srv", "private_key": certificateKey}, Fails: "is a directory, not a certificate"},
		{Name: "no directory", Values: map[string]any{"path": "/none/a.pem", "private_key": certificateKey}, Fails: "the directory /none is not there", Hint: `directory "/none" {}`},
		{Name: "no directory of the key", Values: map[string]any{"path": certificateAt, "private_key": "/none/a.key"}, Fails: "the directory /none is not there", Hint: `directory "/none" {}`},
		{Name: "no authority", Values: pair("/etc/ssl/ca.pem", "/etc/ssl/private/ca.key"), Fails: "the certificate of the authority"},
		{Name: "its key is another", Prepare: func(t *testing.T, h host.Host) {
			authority(t, h)
			carryOut(t, h, map[string]any{"path": "/etc/ssl/o.pem", "private_key": "/etc/ssl/o.key"})
		}, Values: pair("/etc/ssl/ca.pem", "/etc/ssl/o.key"), Fails: "is not that of the certificate"},
		{Name: "no authority at all", Prepare: func(t *testing.T, h host.Host) {
			carryOut(t, h, map[string]any{"path": "/etc/ssl/o.pem", "private_key": "/etc/ssl/o.key"})
		}, Values: pair("/etc/ssl/o.pem", "/etc/ssl/o.key"), Fails: "cannot sign others"},
		{Name: "an authority that ends", Prepare: func(t *testing.T, h host.Host) {
			authority(t, h)
			h.(*host.Memory).SetClock(today().AddDate(0, 0, 3640))
		}, Values: pair("/etc/ssl/ca.pem", "/etc/ssl/private/ca.key"), Fails: "renew it first"},
		{Name: "a clock in the past", Prepare: func(_ *testing.T, h host.Host) { h.(*host.Memory).SetClock(time.Unix(0, 0)) },
			Values: certificateValues(nil), Fails: "the clock of this host says 1970-01-01"},
		{Name: "a certificate of the future", Prepare: func(t *testing.T, h host.Host) {
			carryOut(t, h, certificatePlain(certificateValues(nil)))
			h.(*host.Memory).SetClock(today().AddDate(0, 0, -2))
		}, Values: certificateValues(nil), Fails: "one of the two is wrong"},
		{Name: "unknown owner", Values: certificateValues(map[string]any{"owner": "nobody-here"}), Fails: "no user named"},
		{Name: "one file", Values: map[string]any{"path": certificateAt, "private_key": certificateAt}, Wrong: "a file each"},
		{Name: "ca alone", Values: certificateValues(map[string]any{"ca": "/ca.pem"}), Wrong: "given together"},
		{Name: "its own authority", Values: pair(certificateAt, "/etc/ssl/ca.key"), Wrong: "cannot be the certificate itself"},
		{Name: "a key for all", Values: certificateValues(map[string]any{"key_mode": "0644"}), Wrong: "nothing for all users"},
		{Name: "no day", Values: certificateValues(map[string]any{"days": 0}), Wrong: "not from 1"},
		{Name: "always due", Values: certificateValues(map[string]any{"days": 30, "renew_days": 30}), Wrong: "less than days"},
		{Name: "a request has no end", Values: certificateValues(map[string]any{"request": true, "days": 30}), Wrong: "no meaning for a request"},
		{Name: "no name", Values: certificateValues(map[string]any{"names": []string{"a b"}}), Wrong: "no DNS name"},
		{Name: "a name in capitals", Values: certificateValues(map[string]any{"names": []string{"Example.test"}}), Wrong: "no DNS name"},
		{Name: "a star within", Values: certificateValues(map[string]any{"names": []string{"a.*.test"}}), Wrong: "no DNS name"},
		{Name: "no address", Values: certificateValues(map[string]any{"addresses": []string{"192.0.2"}}), Wrong: "no IP address"},
		{Name: "a long address", Values: certificateValues(map[string]any{"addresses": []string{"2001:db8:0::1"}}), Wrong: "usual form"},
		{Name: "no usage", Values: certificateValues(map[string]any{"usage": []string{"mail"}}), Wrong: "none of server, client"},
		{Name: "two lines", Values: certificateValues(map[string]any{"common_name": "a\nb"}), Wrong: "one line"},
		{Name: "a long common name", Values: certificateValues(map[string]any{"common_name": strings.Repeat("a", 65)}), Wrong: "more than 64"},
	}})
}

// A renewed certificate is of the same key, and each algorithm makes one that can be
// read back.
func TestCertificateKeys(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"ecdsa-p256", "rsa-2048"} {
		h := newCertificateHost(t)
		v := certificateValues(map[string]any{"algorithm": algorithm})
		carryOut(t, h, v)
		before, first := fake.Text(h, certificateKey), fake.Text(h, certificateAt)
		carryOut(t, h, v)
		if fake.Text(h, certificateKey) != before {
			t.Errorf("%s: the key is another", algorithm)
		}
		if fake.Text(h, certificateAt) == first {
			t.Errorf("%s: the certificate is the same", algorithm)
		}
	}
}

// Below a root all of it is there, and nothing is beside it.
func TestCertificateBelowRoot(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	h, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	carryOut(t, h, map[string]any{"path": "/site.pem", "private_key": "/site.key", "common_name": "example.test"})
	entries, err := h.ReadDir("/")
	if err != nil || len(entries) != 2 {
		t.Errorf("it holds %v, %v", entries, err)
	}
	if info, err := h.Lstat("/site.key"); err != nil || info.Mode != 0o600 {
		t.Errorf("the key is %+v, %v", info, err)
	}
	if err := parsed(t, h, "/site.pem").VerifyHostname("example.test"); err != nil {
		t.Error(err)
	}
}
