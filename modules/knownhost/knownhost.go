// Package knownhost is the module "known_host": the keys by which SSH knows a host.
package knownhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/home"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/modules/internal/sshkey"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// KnownHost is the keys of one host, wanted or observed.
type KnownHost struct {
	Host string   `state:"host,key" doc:"Name or address of the host, as it is connected to; with a port other than 22: [git.example.test]:2222."`
	User *string  `state:"user,key,optional,of_user" doc:"Name of the user who knows it, in ~/.ssh/known_hosts. Without it all users do, in /etc/ssh/ssh_known_hosts."`
	Keys []string `state:"keys,set,present" doc:"All its keys, each with its type, as ssh-keyscan prints them behind the name."`
	// Hashed is as it is wanted where all lines of the host are so, else the contrary.
	Hashed *bool `state:"hashed" doc:"Whether its name is hashed in the file, as by HashKnownHosts of ssh, so that who reads the file does not learn which hosts are known. If not given, lines that are there stay as they are, and new ones have the name."`

	// defects is what Read found to be wrong beside the keys.
	defects []states.Change
}

const doc = `The keys by which SSH knows a host, so that nobody is asked at the first connection.

These are all keys of the host: other ones in the file are removed, also where its name is hashed. Where several names share a line, only this name goes from it. New lines come at the end, with the name as it is, unless hashed is true. Patterns, certificate authorities and revoked keys are left alone.

In a user's own file, links and files of others are errors, as for authorized_keys. Absent removes all keys of the host.`

const example = `known_host "git.example.test" {
  keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGaDKCEuqem8pbzUlITp2rGeMIFwXHm/tjYTy6Eff63"]
}

user "deploy" {}

known_host "[backup.example.test]:2222" {
  require = [user.deploy]
  user    = "deploy"
  keys    = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICrFlLYYldOmS3Eh3mCy1N9cbhisWPDQITX3r1Q7kt2E"]
}`

// Module is the module "known_host".
var Module = states.Define(states.Type[KnownHost]{
	Name: "known_host", Doc: doc, Example: example, Locks: []string{"known_hosts", global}, Root: true,
	Validate: validate, Extra: func(have, _ KnownHost) []states.Change { return have.defects },
	Read: read, Write: write, Remove: remove, Import: importHost, List: list,
})

func validate(want KnownHost) error {
	if err := checkHost(want.Host); err != nil {
		return err
	}
	if want.User != nil {
		if err := check.Name("user", *want.User, "._-$@\\+"); err != nil {
			return err
		}
	}
	if want.Keys != nil && len(want.Keys) == 0 {
		return states.InvalidAttribute("keys", "a host without a key is not known", `to remove it, write ensure = "absent"`)
	}
	for _, text := range want.Keys {
		e := &states.AttributeError{Attribute: "keys"}
		k, err := sshkey.Parse(text)
		switch {
		case err != nil:
			e.Message = err.Error()
			e.Hint = "write what ssh-keyscan prints behind the name"
			return e
		case k.Options+k.Comment != "" || k.String() != text:
			e.Message = fmt.Sprintf("%.60q is more than the type and the key", text)
			return e
		}
	}
	return nil
}

// checkHost takes the one form in which ssh looks for the host.
func checkHost(name string) error {
	e := &states.AttributeError{Attribute: "host"}
	if inner, port, brackets := strings.Cut(strings.TrimPrefix(name, "["), "]:"); brackets && strings.HasPrefix(name, "[") {
		n, err := strconv.ParseUint(port, 10, 16)
		switch {
		case err != nil || n == 0 || strconv.FormatUint(n, 10) != port:
			e.Message = fmt.Sprintf("%.20q is no port", port)
			return e
		case n == 22:
			e.Message = "22 is the port that is meant without one"
			e.Hint = "write " + inner
			return e
		}
		name = inner
	}
	if address, err := netip.ParseAddr(name); err == nil {
		if address.String() != name || address.Zone() != "" {
			e.Message = fmt.Sprintf("%.60q is not the shortest form of this address, or has a zone", name)
			return e
		}
		return nil
	}
	if name != strings.ToLower(name) {
		e.Message = fmt.Sprintf("%.60q has capital letters, which ssh does not look for", name)
		e.Hint = "write " + strings.ToLower(name)
		return e
	}
	return check.HostName("host", name)
}

// store is the file that holds the host.
type store struct {
	h      host.Host
	folder *home.Folder // of the user; nil: the file is the machine's
}

const (
	global = "/etc/ssh/ssh_known_hosts"
	file   = "known_hosts"
)

func open(h host.Host, user *string) (store, error) {
	if user == nil {
		return store{h: h}, nil
	}
	folder, err := home.Open(h, *user, ".ssh")
	return store{h, folder}, err
}

func (s store) load() (lines.Text, []states.Change, error) {
	if s.folder == nil {
		t, err := lines.LoadIfThere(s.h, global)
		return t, nil, err
	}
	t, _, wrong, err := s.folder.Load(file)
	return t, wrong, err
}

func (s store) save(ctx context.Context, t lines.Text) error {
	empty := strings.TrimSpace(t.String()) == ""
	switch {
	case s.folder == nil && empty:
		return s.h.Remove(global)
	case s.folder == nil:
		return t.Save(ctx, s.h, global, host.Meta{})
	case empty:
		return s.folder.Remove(file)
	}
	return s.folder.Save(ctx, file, t)
}

func read(_ context.Context, h host.Host, want KnownHost) (*KnownHost, error) {
	s, err := open(h, want.User)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // without a user or a home nothing is known
	}
	if err != nil {
		return nil, err
	}
	t, wrong, err := s.load()
	if err != nil {
		return nil, err
	}
	have := &KnownHost{Host: want.Host, User: want.User, defects: wrong}
	have.Hashed = want.Hashed
	for _, r := range t {
		e, ok := parse(r.Line)
		if !ok || !e.knows(want.Host) {
			continue
		}
		have.Keys = append(have.Keys, e.key.String())
		if !want.likes(e) {
			have.Hashed = new(!*want.Hashed)
		}
	}
	if have.Keys == nil {
		return nil, nil
	}
	slices.Sort(have.Keys)
	have.Keys = slices.Compact(have.Keys)
	return have, nil
}

// importHost reads a host as it would be declared: hashed only where all lines are.
func importHost(ctx context.Context, h host.Host, key KnownHost) (*KnownHost, error) {
	have, err := read(ctx, h, KnownHost{Host: key.Host, User: key.User, Hashed: new(true)})
	if have != nil && !*have.Hashed {
		have.Hashed = nil
	}
	return have, err
}

// likes reports whether a line is hashed if it is to be, and only then.
func (k KnownHost) likes(e entry) bool { return k.Hashed == nil || *k.Hashed == e.isHashed() }

func write(ctx context.Context, h host.Host, _ *KnownHost, want KnownHost) error {
	s, err := open(h, want.User)
	if err != nil {
		return err
	}
	t, _, err := s.load()
	if err != nil {
		return err
	}
	t = removeHost(t, want.Host, func(e entry) bool { return slices.Contains(want.Keys, e.key.String()) && want.likes(e) })
	for _, key := range want.Keys {
		known := t.Find(func(line string) bool {
			e, ok := parse(line)
			return ok && e.knows(want.Host) && e.key.String() == key
		})
		if len(known) == 0 {
			name := want.Host
			if want.Hashed != nil && *want.Hashed {
				name = knownhosts.HashHostname(name)
			}
			t = t.Insert(len(t), name+" "+key)
		}
	}
	return s.save(ctx, t)
}

// removeHost takes the host from all lines but those that stay.
func removeHost(t lines.Text, name string, stays func(entry) bool) lines.Text {
	t = slices.Clone(t)
	var gone []int
	for i, r := range t {
		e, ok := parse(r.Line)
		if !ok || !e.knows(name) || stays(e) {
			continue
		}
		names := slices.DeleteFunc(slices.Clone(e.names), func(n string) bool { return n == name })
		if e.isHashed() || len(names) == 0 {
			gone = append(gone, i)
			continue
		}
		t[i].Line = strings.Join(names, ",") + r.Line[len(e.list):]
	}
	return t.Without(gone, -1)
}

func remove(ctx context.Context, h host.Host, have KnownHost) error {
	s, err := open(h, have.User)
	if err != nil {
		return err
	}
	t, _, err := s.load()
	if err != nil {
		return err
	}
	return s.save(ctx, removeHost(t, have.Host, func(entry) bool { return false }))
}

// list finds the hosts that the machine knows.
func list(_ context.Context, h host.Host, _ []string) ([]KnownHost, error) {
	t, err := lines.LoadIfThere(h, global)
	var found []KnownHost
	seen := map[string]bool{}
	for _, r := range t {
		e, ok := parse(r.Line)
		if !ok || e.isHashed() {
			continue
		}
		for _, name := range e.names {
			if !seen[name] && checkHost(name) == nil {
				seen[name] = true
				found = append(found, KnownHost{Host: name})
			}
		}
	}
	return found, err
}
