// Package certificate is the module "certificate": a certificate of X.509 with its
// private key, or a request for one.
package certificate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/deferred"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Certificate is the state of one certificate or request, wanted or observed. A nil
// attribute is not managed.
type Certificate struct {
	Path         string       `state:"path,key,path" doc:"Absolute path of the certificate, or of the request for one."`
	PrivateKey   *string      `state:"private_key,in,path,present" doc:"Absolute path of its private key. One that is there is used; otherwise it is made. It never leaves the host, and is never shown."`
	Request      *bool        `state:"request" doc:"Makes a request (CSR), for somebody else to sign, in place of a certificate."`
	CommonName   *string      `state:"common_name" doc:"Name of who it is for, at most 64 characters."`
	Organization *string      `state:"organization" doc:"Organization of who it is for."`
	Names        []string     `state:"names,set" doc:"DNS names that it is valid for, in lower case; *.example.test for all below. By default common_name, if that is such a name and no addresses are given."`
	Addresses    []string     `state:"addresses,set" doc:"IP addresses that it is valid for."`
	Usage        []string     `state:"usage,set" doc:"What it is for: server, client or both; server for a new one that is no authority."`
	Authority    *bool        `state:"authority" doc:"Whether it may sign others; false for a new one."`
	Algorithm    *string      `state:"algorithm" enum:"ecdsa-p256,ecdsa-p384,rsa-2048,rsa-3072,rsa-4096,ed25519" doc:"Kind of the private key. Another one than that of the key that is there replaces it."`
	Days         *int         `state:"days,in" doc:"How long a new certificate is valid, 365 by default."`
	RenewDays    *int         `state:"renew_days,in" doc:"How long before its end it is renewed: 30 days by default, or a third of days if that is less."`
	CA           *string      `state:"ca,in,path" doc:"Path of the certificate of who signs it, with ca_key. Without them it is signed by itself."`
	CAKey        *string      `state:"ca_key,in,path" doc:"Path of the private key that belongs to ca, on this host."`
	Chain        *bool        `state:"chain" doc:"Whether the certificates in the file of ca follow in the same file, but for one that is signed by itself: what servers give to clients who know the first authority alone. Not so for a new one."`
	Owner        *string      `state:"owner,of_user" doc:"Name or number of the user who owns it and its key."`
	Group        *string      `state:"group,of_group" doc:"Name or number of the group of it and its key."`
	Mode         *fs.FileMode `state:"mode" doc:"Permission bits of the certificate."`
	KeyMode      *fs.FileMode `state:"key_mode" doc:"Permission bits of the private key; others than owner and group can have none, and lose those that they have."`

	Expires     *string `state:"expires,out" doc:"When it ends, as in 2027-01-31T12:00:00Z."`
	Fingerprint *string `state:"fingerprint,out" doc:"SHA-256 of the certificate, in hex digits."`

	// What Read found beside the attributes: why a new one is due, and whether the
	// key that is there is the right one.
	renewals     []states.Change
	open         []states.Change // of a key that all users may read
	ownerEffects []states.Change // what goes with the owner
	keyFits      bool
}

const doc = `A certificate with its private key, signed by itself or by an authority whose key is on the host; or a request for one.

A certificate is issued anew where what it says is not what is wanted, where it is not that of the private key, where another authority is to sign it or the chain behind it is not that of ca, and renew_days before its end; a plan says why. The private key stays the same meanwhile, unless its algorithm changes. To have a new key, remove the file. A request is made anew for the first two of these reasons only.

The key is made on the host, with mode 0600, before the certificate that belongs to it. Whether a certificate is due is decided by the host's clock: one that has not begun yet by it is an error, since then the clock is wrong, here or where it was issued.

` + owner.Doc + `

Directories must be there. What stands at the path and is no certificate is not replaced. Absent removes the certificate, and its private key if it belongs to it.

For certificates of Let's Encrypt and the like use a client of ACME, such as certbot.`

const example = `directory "/etc/ssl/site" {}

certificate "/etc/ssl/site/ca.pem" {
  private_key = "/etc/ssl/site/ca.key"
  common_name = "${var.domain} authority"
  authority   = true
  names       = []
  days        = 3650
}

certificate "/etc/ssl/site/site.pem" {
  private_key = "/etc/ssl/site/site.key"
  common_name = var.domain
  names       = [var.domain, "www.${var.domain}"]
  addresses   = ["192.0.2.1"]
  ca          = "/etc/ssl/site/ca.pem"
  ca_key      = "/etc/ssl/site/ca.key"
  days        = 90
}`

// Module is the module "certificate".
var Module = states.Define(states.Type[Certificate]{
	Name: "certificate", Doc: doc, Example: example,
	New:      Certificate{Request: new(false), Algorithm: new("ecdsa-p256"), Mode: new(fs.FileMode(0o644))},
	Validate: validate, Complete: complete, Extra: func(have, _ Certificate) []states.Change {
		return slices.Concat(have.renewals, have.open, have.ownerEffects)
	},
	Read: read, Write: write, Remove: remove, Foresee: foresee,
})

// forOthers are the bits that no private key has.
const forOthers = fs.FileMode(0o7)

// complete gives a certificate for a host its name.
func complete(_ context.Context, _ host.Host, want *Certificate) error {
	if want.Names == nil && want.Addresses == nil && want.CommonName != nil && !check.True(want.Authority) && checkDNS(*want.CommonName) == nil {
		want.Names = []string{*want.CommonName}
	}
	return nil
}

// sameContent reports whether nothing has to be issued. What is not given Fill has
// taken from what is there.
func (c Certificate) sameContent(want Certificate) bool {
	given := func(have, want []string) bool { return want == nil || slices.Equal(have, sorted(want)) }
	text := func(have, want *string) bool { return want == nil || have != nil && *have == *want }
	flag := func(have, want *bool) bool { return want == nil || have != nil && *have == *want }
	return len(c.renewals) == 0 && text(c.CommonName, want.CommonName) && text(c.Organization, want.Organization) &&
		text(c.Algorithm, want.Algorithm) && flag(c.Chain, want.Chain) && flag(c.Request, want.Request) && flag(c.Authority, want.Authority) &&
		given(c.Names, want.Names) && given(c.Addresses, want.Addresses) && given(c.Usage, want.Usage)
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// metas are owner and mode of the certificate and of its key.
func (want Certificate) metas(h host.Host) (certificate, key host.Meta, err error) {
	certificate, err = owner.Meta(h, want.Owner, want.Group, want.Mode)
	key = certificate
	key.Mode = want.KeyMode
	return certificate, key, err
}

// preparation is all that is needed to write a certificate; nothing is changed yet.
type preparation struct {
	meta, keyMeta host.Meta
	issue         bool
	signer        *authority // nil: itself
	key           *keyPair   // nil: it has to be made
}

func prepare(h host.Host, have *Certificate, want Certificate) (*preparation, error) {
	p := &preparation{issue: have == nil || !have.sameContent(want)}
	var err error
	if p.meta, p.keyMeta, err = want.metas(h); err != nil || !p.issue {
		return p, err
	}
	if want.PrivateKey == nil {
		return nil, states.InvalidAttribute("private_key", "it is required for a certificate that is to be there", "")
	}
	for _, name := range []string{want.Path, *want.PrivateKey} {
		if _, err := h.Lstat(path.Dir(name)); err != nil {
			return nil, states.DirectoryError(h, path.Dir(name), err)
		}
	}
	if info, err := h.Lstat(*want.PrivateKey); err == nil && info.Kind != host.Regular {
		return nil, fmt.Errorf("%s is a %s, not a private key", *want.PrivateKey, info.Kind)
	}
	if p.signer, err = loadAuthority(h, want); err != nil {
		return nil, err
	}
	if err := p.signer.lasts(h, want); err != nil {
		return nil, err
	}
	p.key, err = loadKey(h, *want.PrivateKey)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if p.key != nil && p.key.algorithm() != *want.Algorithm {
		p.key = nil
	}
	if p.key == nil && p.keyMeta.Mode == nil {
		p.keyMeta.Mode = new(fs.FileMode(0o600))
	}
	return p, err
}

func write(ctx context.Context, h host.Host, have *Certificate, want Certificate) error {
	p, err := prepare(h, have, want)
	if err != nil {
		return err
	}
	if !p.issue {
		return setMetas(ctx, h, want, p)
	}
	if p.signer.unknown() {
		return host.ErrUnforeseeable
	}
	if p.key == nil {
		if p.key, err = makeKey(*want.Algorithm); err != nil {
			return err
		}
		text, err := p.key.text()
		if err != nil {
			return err
		}
		if err := h.WriteFile(ctx, *want.PrivateKey, host.Text(text), p.keyMeta); err != nil {
			return err
		}
	} else if err := owner.SetMeta(ctx, h, *want.PrivateKey, p.keyMeta, nil); err != nil {
		return err
	}
	text, err := issue(host.Now(h), want, p)
	if err != nil {
		return err
	}
	return h.WriteFile(ctx, want.Path, host.Text(text), p.meta)
}

func setMetas(ctx context.Context, h host.Host, want Certificate, p *preparation) error {
	if want.PrivateKey != nil {
		if err := owner.SetMeta(ctx, h, *want.PrivateKey, p.keyMeta, nil); err != nil {
			return err
		}
	}
	return owner.SetMeta(ctx, h, want.Path, p.meta, nil)
}

// foresee makes no key and signs nothing: what will be there is known well enough.
func foresee(ctx context.Context, h host.Host, have, want *Certificate) error {
	if want == nil {
		return remove(ctx, h, *have)
	}
	p, err := prepare(h, have, *want)
	if err != nil {
		return err
	}
	if !p.issue {
		return setMetas(ctx, h, *want, p)
	}
	if p.key == nil {
		err = h.WriteFile(ctx, *want.PrivateKey, deferred.Content(nil), p.keyMeta)
	} else {
		err = owner.SetMeta(ctx, h, *want.PrivateKey, p.keyMeta, nil)
	}
	if err != nil {
		return err
	}
	known := *want
	known.renewals, known.keyFits = nil, true
	return h.WriteFile(ctx, want.Path, deferred.Content(known), p.meta)
}

func remove(_ context.Context, h host.Host, have Certificate) error {
	err := h.Remove(have.Path)
	if err == nil && have.keyFits {
		err = h.Remove(*have.PrivateKey)
	}
	return err
}
