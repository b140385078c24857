package demo

import (
	"context"
	"errors"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
)

// beat is the time between two things that happen.
const beat = 5 * time.Second

// event is something that happens now and then: every so many beats.
type event struct {
	every int
	do    func(context.Context) error
}

// events are all of them. Whoever looks at the demo may have changed anything meanwhile: then nothing comes of some.
func (d *Demo) events() []event {
	return []event{
		{1, d.drift},
		{7, d.writeNotice},
		{6, d.approve},
		{11, d.release},
		{31, d.mendBuilds},
		{37, d.deployBuilds},
		{29, d.goOnWithMetrics},
		{41, d.comeAndGo},
		{53, d.turnPin},
	}
}

// goOn has things happen until the context ends.
func (d *Demo) goOn(ctx context.Context) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for turn := 1; ; turn++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, e := range d.events() {
			if turn%e.every != 0 {
				continue
			}
			if err := tolerate(e.do(ctx)); err != nil && ctx.Err() == nil {
				d.Log(err.Error())
			}
		}
	}
}

// tolerate lets pass that something cannot be done since a deployment or a host stands elsewhere by now: somebody who looks was quicker.
func tolerate(err error) error {
	switch diag.CodeOf(err) {
	case "wrong_phase", "plan_differs", "pinned", "not_found", "gone":
		return nil
	}
	return err
}

// count says how often something has happened, this time among it.
func (d *Demo) count(what string) int {
	d.counts[what]++
	return d.counts[what]
}

// drift has somebody change a machine by hand. Its agent mends that when it looks again.
func (d *Demo) drift(ctx context.Context) error {
	n := d.count("drift")
	a := d.agents[d.machines[n%len(d.machines)].name]
	changes := []struct{ file, text string }{
		{"/etc/motd", "Back soon. W.\n"},
		{"/srv/shop/index.html", "<h1>It works!</h1>\n"},
		{"/etc/chrony/chrony.conf", "pool 2.debian.pool.ntp.org iburst\n"},
		{"/etc/haproxy/haproxy.cfg", "defaults\n  mode tcp\n"},
		{"/etc/issue", "Welcome!\n"},
	}
	for i := range changes {
		c := changes[(n+i)%len(changes)]
		if simulated.Exists(a.host, c.file) {
			return simulated.WriteFile(ctx, a.host, c.file, c.text, host.Meta{})
		}
	}
	return nil
}

// writeNotice has the one on duty write another notice; each third time there is a mistake in it.
func (d *Demo) writeNotice(context.Context) error {
	if len(named(d.machines, kindsOf("status")...)) == 0 {
		return nil
	}
	notices := []string{"All is well.", "Payments are slow.", "Payments are fast again.", "Parcels to the islands take a day longer.", "We are open on Sunday."}
	n := d.count("notice")
	return d.writeStatus(notices[n%len(notices)], n%3 != 0)
}

// mendBuilds has somebody mount the volume of a machine that builds, or lose it again.
func (d *Demo) mendBuilds(ctx context.Context) error {
	a := d.agents["build1"]
	if a == nil {
		return nil
	}
	if d.count("builds")%2 == 1 {
		return a.host.Remove(workspaces)
	}
	return errors.Join(removeAll(a.host, workspaces), simulated.WriteFile(ctx, a.host, workspaces, inTheWay, host.Meta{}))
}

// turnPin has the machine that was taken back follow again, or takes it back anew.
func (d *Demo) turnPin(ctx context.Context) error {
	if d.count("pin")%2 == 0 {
		return d.pin(ctx)
	}
	_, err := d.as(operator).Unpin(ctx, "base", d.pinned(), "the clock was the machine's own fault (INFRA-231)")
	return err
}

// removeAll removes what is at a path of a machine, with all below it.
func removeAll(h *host.Memory, name string) error {
	if !simulated.Exists(h, name) {
		return nil
	}
	entries, err := h.ReadDir(name)
	if err != nil {
		return h.Remove(name) // it is no directory
	}
	for _, e := range entries {
		if err := removeAll(h, name+"/"+e.Name); err != nil {
			return err
		}
	}
	return h.Remove(name)
}
