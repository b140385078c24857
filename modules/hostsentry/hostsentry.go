// Package hostsentry is the module "hosts_entry": the names of one address in
// /etc/hosts.
package hostsentry

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Entry is the names of one address, wanted or observed.
type Entry struct {
	Address string   `state:"address,key" doc:"The IPv4 or IPv6 address."`
	Names   []string `state:"names,present" doc:"Its names: these, and no others. The first one is the canonical name."`
}

const doc = `The names of an address in /etc/hosts.

One line holds them all: the first one of that address is changed, with its comment kept, others of that address are removed, and a new one comes at the end. All else in the file stays as it is, and where it is. A name may stand beside several addresses; what is not declared of other addresses is left alone.

Absent removes the lines of the address.`

const example = `hosts_entry "192.0.2.10" {
  names = ["db.example.test", "db"]
}`

// Module is the module "hosts_entry".
var Module = states.Define(states.Type[Entry]{
	Name: "hosts_entry", Doc: doc, Example: example, Locks: []string{"/etc/hosts"}, Root: true,
	Validate: validate, Claims: claims, Read: read, Write: write, Remove: remove, List: list,
})

const file = "/etc/hosts"

func validate(want Entry) error {
	address, err := netip.ParseAddr(want.Address)
	switch {
	case err != nil:
		return states.InvalidAttribute("address", fmt.Sprintf("%.60q is no IP address", want.Address), "write one such as 192.0.2.1 or 2001:db8::1; names belong in names")
	case address.String() != want.Address:
		return states.InvalidAttribute(
			"address", fmt.Sprintf("%q is not the shortest form of this address", want.Address),
			"write "+address.String(),
		)
	case address.Zone() != "":
		if err := check.Name("address", address.Zone(), "._-@"); err != nil {
			return err
		}
	}
	if want.Names != nil && len(want.Names) == 0 {
		return states.InvalidAttribute("names", "an address without a name has no line", `to remove it, write ensure = "absent"`)
	}
	for _, name := range want.Names {
		if err := check.HostName("names", name); err != nil {
			return err
		}
	}
	return nil
}

// parse reads a line: an address, its names, and the comment behind them with the
// space before it.
func parse(line string) (address netip.Addr, names []string, comment string) {
	text := line
	if i := strings.IndexByte(line, '#'); i >= 0 {
		text = line[:i]
		comment = line[len(strings.TrimRight(text, " \t")):]
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return netip.Addr{}, nil, ""
	}
	address, err := netip.ParseAddr(words[0])
	if err != nil {
		return netip.Addr{}, nil, ""
	}
	return address, words[1:], comment
}

func matchAddress(address string) func(string) bool {
	wanted, err := netip.ParseAddr(address)
	return func(line string) bool { is, _, _ := parse(line); return err == nil && is == wanted }
}

func read(_ context.Context, h host.Host, want Entry) (*Entry, error) {
	t, err := lines.LoadIfThere(h, file)
	if err != nil {
		return nil, err
	}
	rows := t.Find(matchAddress(want.Address))
	if len(rows) == 0 {
		return nil, nil
	}
	have := &Entry{Address: want.Address, Names: []string{}}
	for _, i := range rows {
		_, names, _ := parse(t[i].Line)
		have.Names = append(have.Names, names...)
	}
	return have, nil
}

func write(ctx context.Context, h host.Host, _ *Entry, want Entry) error {
	t, err := lines.LoadIfThere(h, file)
	if err != nil {
		return err
	}
	rows := t.Find(matchAddress(want.Address))
	line := want.Address + "\t" + strings.Join(want.Names, " ")
	if len(rows) > 0 {
		_, _, comment := parse(t[rows[0]].Line)
		line += comment
	}
	return t.Set(rows, line).Save(ctx, h, file, host.Meta{})
}

func remove(ctx context.Context, h host.Host, have Entry) error {
	t, err := lines.Load(h, file)
	if err != nil {
		return err
	}
	return t.Without(t.Find(matchAddress(have.Address)), -1).Save(ctx, h, file, host.Meta{})
}

// list leaves out what every host has: its own addresses and those of groups.
func list(_ context.Context, h host.Host, _ []string) ([]Entry, error) {
	t, err := lines.LoadIfThere(h, file)
	var found []Entry
	seen := map[netip.Addr]bool{}
	for _, r := range t {
		address, names, _ := parse(r.Line)
		if len(names) > 0 && !address.IsLoopback() && !address.IsMulticast() && !seen[address] && address.IsValid() {
			seen[address] = true
			found = append(found, Entry{Address: address.String()})
		}
	}
	return found, err
}

// claims says what a part takes for granted of a file that others may write as a whole.
func claims(values map[string]any, absent bool) []states.Claim {
	if absent {
		return nil
	}
	address, _ := values["address"].(string)
	return claim.Piece("/etc/hosts", address, "that an entry of "+address)
}
