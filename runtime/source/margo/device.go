package margo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// Config is what a device is made of.
type Config struct {
	Manager      string // margo+https://HOST
	Files        Files
	Folder       string // of its records
	Capabilities *rc2.Capabilities
	Interval     time.Duration // 0: DefaultInterval
	// Windows and Downtimes say when the manager is asked: see Rules.
	Windows   []site.Window
	Downtimes []source.Downtime
	Applier   Applier
	Judge     func(rc2.Deployment) *rc2.Error
	Tell      func(Tell) // nil: nobody
	Now       func() time.Time
}

// Applier makes the host as it is wanted. It tells where each component stands, as that changes; what it does not tell of stays as it
// was. An error is that it could not try, or not to its end: it is called again.
type Applier interface {
	Apply(ctx context.Context, wanted []Wanted, tell func(Progress) error) error
}

// Wanted is a deployment as it is to be on the host.
type Wanted struct {
	ID       string
	Revision rc2.Digest      // of the document
	Document *rc2.Deployment // nil: all of it goes
	Remove   []string        // components that go
}

// Device is a machine with a manager.
type Device struct {
	config Config
	client *client
	folder folder
	rules  Rules
	state  State
	saved  []byte // the State as it is on the disk
	id     Identity
}

// Open takes a device up where it was.
func Open(c Config) (*Device, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Interval <= 0 {
		c.Interval = DefaultInterval
	}
	client, err := newClient(c.Manager, c.Files, c.Now)
	if err != nil {
		return nil, err
	}
	d := &Device{config: c, client: client, folder: folder(c.Folder), rules: Rules{Interval: c.Interval, Windows: c.Windows, Downtimes: c.Downtimes, Judge: c.Judge}}
	if err := d.Describe(c.Capabilities); err != nil {
		return nil, err
	}
	if err := d.folder.make(); err != nil {
		return nil, err
	}
	d.state, err = d.folder.load()
	return d, err
}

// Describe says what the device has from now on: the manager is told by the next Turn.
func (d *Device) Describe(c *rc2.Capabilities) error {
	encoded, err := c.Encode()
	if err != nil {
		return err
	}
	d.rules.Device, d.rules.Capabilities, d.rules.Description = c.Device, c, rc2.DigestOf(encoded)
	return nil
}

// State gives where the device stands.
func (d *Device) State() State { return d.state.clone() }

// Next is when Turn has something to do at the earliest.
func (d *Device) Next() time.Time { return d.rules.Next(d.state, d.config.Now()) }

// Turn does what the time has come for. An error is one of this machine, such as a full disk, or that of ctx; what a manager does
// wrong is told, and tried again.
func (d *Device) Turn(ctx context.Context) error {
	id, err := d.client.identify()
	if err != nil && d.id == (Identity{}) {
		return err
	}
	if err == nil && id != d.id { // without credentials, requests fail and say so; the workloads stay
		if err := d.handle(ctx, Started{id.String()}); err != nil {
			return err
		}
		d.id = id
	}
	return d.handle(ctx, Passed{})
}

// Note is what became of a component outside of an apply that the device has asked for.
func (d *Device) Note(ctx context.Context, p Progress) error { return d.handle(ctx, p) }

// Wanted gives what is to be on the host.
func (d *Device) Wanted() ([]Wanted, error) { return d.wanted() }

// Unregister takes the device away from its manager.
func (d *Device) Unregister(ctx context.Context) error {
	if f := d.client.unregister(ctx, d.rules.Device); f != nil {
		return &diag.HintError{Message: f.Reason, Hint: f.Hint}
	}
	return nil
}

// handle does a step and all that follows from it. The State is durable before anything follows.
func (d *Device) handle(ctx context.Context, m Message) error {
	next, actions := d.rules.Step(d.state, d.config.Now(), m)
	saved, err := d.folder.save(next, d.saved)
	if err != nil {
		return fmt.Errorf("the records of the device: %w", err)
	}
	d.state, d.saved = next, saved
	for _, a := range actions {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.act(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (d *Device) act(ctx context.Context, a Action) error {
	var m Message
	switch a := a.(type) {
	case Tell:
		if d.config.Tell != nil {
			d.config.Tell(a)
		}
		return nil
	case Ask:
		m = d.client.manifest(ctx, a.ETag)
	case Fetch:
		var err error
		if m, err = d.fetch(ctx, a); err != nil {
			return err
		}
	case Send:
		if r := d.state.Outbox[a.Status.Deployment]; r.Serial != a.Serial || !r.Turn.isDue(d.config.Now()) { // a step before has sent it, or has news
			return nil
		}
		m = Taken{a.Status.Deployment, a.Serial}
		if f := d.client.report(ctx, a.Status); f != nil {
			m = Untold{a.Status.Deployment, a.Serial, *f}
		}
	case Describe:
		if d.state.Described == d.rules.Description || !d.state.Description.isDue(d.config.Now()) {
			return nil
		}
		m = Described{d.rules.Description}
		if f := d.client.describe(ctx, d.rules); f != nil {
			m = Undescribed{*f}
		}
	case Apply:
		return d.apply(ctx)
	}
	if err := ctx.Err(); err != nil { // it failed because of that
		return err
	}
	if err := d.handle(ctx, m); err != nil {
		return err
	}
	if v, ok := m.(Verified); ok && d.state.Accepted.Digest != v.Digest { // a manager that offers such manifests fills no disk
		return d.folder.clean(d.state)
	}
	return nil
}

// fetch gets the documents that are not kept yet, and verifies all.
func (d *Device) fetch(ctx context.Context, a Fetch) (Message, error) {
	documents := map[string][]byte{}
	var missing []rc2.Reference
	left := maxDocuments
	for _, ref := range a.Manifest.Deployments {
		data, err := d.folder.read(ref.Digest)
		if err != nil {
			return nil, err
		}
		if data == nil {
			missing = append(missing, ref)
			continue
		}
		documents[ref.ID] = data
		left -= len(data)
	}
	got, f := d.download(ctx, a.Manifest, missing, left)
	if f != nil {
		return Unavailable{*f}, nil
	}
	verified := Verified{a.Manifest, a.Digest, map[string]rc2.Deployment{}}
	for _, ref := range a.Manifest.Deployments {
		data := documents[ref.ID]
		if data == nil {
			data = got[ref.ID]
		}
		one, err := rc2.ReadDeployment(data)
		if err != nil {
			return Unavailable{*failed("the document of the deployment "+ref.ID, err)}, nil
		}
		if one.ID != ref.ID { // nothing of it is kept
			return Unavailable{Failure{Reason: fmt.Sprintf("the document of the deployment %s is that of another one, %s", ref.ID, one.ID)}}, nil
		}
		verified.Documents[ref.ID] = one
	}
	for _, ref := range missing {
		if err := d.folder.keep(ref.Digest, got[ref.ID]); err != nil {
			return nil, err
		}
	}
	return verified, nil
}

// fewDocuments is up to how many are got one by one.
const fewDocuments = 3

// maxDocuments bounds the documents of a manifest together, as a bundle is bounded.
const maxDocuments = 64 << 20

func (d *Device) download(ctx context.Context, m rc2.Manifest, missing []rc2.Reference, left int) (map[string][]byte, *Failure) {
	if len(missing) > fewDocuments && m.Bundle != nil {
		documents, f := d.client.bundle(ctx, m)
		if f != nil || documents != nil {
			return documents, f
		}
	}
	documents := map[string][]byte{}
	for _, ref := range missing {
		data, f := d.client.document(ctx, ref)
		if f != nil {
			return nil, f
		}
		if left -= len(data); left < 0 {
			return nil, &Failure{Reason: fmt.Sprintf("the documents of the manifest have more than %d bytes together", maxDocuments)}
		}
		documents[ref.ID] = data
	}
	return documents, nil
}

// apply has the host made as the State says.
func (d *Device) apply(ctx context.Context) error {
	wanted, err := d.wanted()
	if err != nil {
		return err
	}
	err = d.config.Applier.Apply(ctx, wanted, func(p Progress) error { return d.handle(ctx, p) })
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	if err != nil && d.config.Tell != nil {
		d.config.Tell(Tell{Trouble, "the workloads could not be applied: " + err.Error(), diag.HintOf(err)})
	}
	if err := d.handle(ctx, Ended{}); err != nil {
		return err
	}
	return d.folder.clean(d.state)
}
