// Package group is the module "group": a group of users.
package group

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/accounts"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Group is the state of one group, wanted or observed. A nil attribute is not
// managed.
type Group struct {
	Name    string   `state:"name,key,group" doc:"Name of the group."`
	GID     *int     `state:"gid" doc:"Number of the group."`
	Members []string `state:"members,set,of_user" doc:"Names of the users who are members: these, and no others. Users who have it as their primary group are not among them. Where user parts manage groups, leave it out."`
	System  *bool    `state:"system,in" doc:"Gives a new group a number from the range of system groups."`
}

const doc = `A group of users, in the host's own files.

What is not given is not managed. Members must be users that the host has. Absent removes the group; that fails while it is somebody's primary group.`

const example = `group "deploy" {
  gid = 2000
}`

// Module is the module "group".
var Module = states.Define(states.Type[Group]{
	Name: "group", Doc: doc, Example: example, Locks: []string{"accounts"}, Root: true,
	Validate: validate, Claims: claims, Read: read, Write: write, Remove: remove, Foresee: foresee, Import: importGroup, List: list, Effects: effects,
})

// effects are what groupadd and its like leave beside the group.
func effects(_ Group, _ bool) states.Effects {
	return states.Effects{Paths: accounts.Traces()}
}

func validate(want Group) error {
	if want.GID != nil && (*want.GID < 0 || int64(*want.GID) > 1<<32-2) {
		return states.InvalidAttribute("gid", fmt.Sprintf("%d is no number of a group", *want.GID), "write one from 0 to 4294967294")
	}
	if len(want.Name) > 32 || strings.Trim(want.Name, "0123456789") == "" && want.Name != "" {
		return states.InvalidAttribute("name", fmt.Sprintf("%.40q is no name of a group: at most 32 characters, and not digits alone", want.Name), "")
	}
	for _, m := range want.Members {
		if err := check.Name("members", m, "._-$"); err != nil {
			return err
		}
	}
	return check.Name("name", want.Name, "._-$")
}

func read(_ context.Context, h host.Host, want Group) (*Group, error) {
	g, err := h.Group(want.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	have := &Group{Name: want.Name, GID: &g.GID}
	if want.Members != nil {
		have.Members = slices.Sorted(slices.Values(g.Members))
		if have.Members == nil {
			have.Members = []string{}
		}
	}
	return have, nil
}

func write(ctx context.Context, h host.Host, have *Group, want Group) error {
	if err := possible(h, want); err != nil {
		return err
	}
	if have == nil {
		argv := []string{"groupadd"}
		if want.System != nil && *want.System {
			argv = append(argv, "--system")
		}
		if want.GID != nil {
			argv = append(argv, "--gid", strconv.Itoa(*want.GID))
		}
		if err := run(ctx, h, append(argv, "--", want.Name)...); err != nil {
			return err
		}
		have = &Group{GID: want.GID}
	}
	if want.GID != nil && *have.GID != *want.GID {
		if err := run(ctx, h, "groupmod", "--gid", strconv.Itoa(*want.GID), "--", want.Name); err != nil {
			return err
		}
	}
	members := sorted(want.Members)
	if want.Members == nil || slices.Equal(have.Members, members) {
		return nil
	}
	return run(ctx, h, "gpasswd", "--members", strings.Join(members, ","), "--", want.Name)
}

func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// possible finds what groupadd and its like would refuse, before anything is
// changed.
func possible(h host.Host, want Group) error {
	if err := accounts.There(h, accounts.Group); err != nil {
		return err
	}
	if want.GID != nil {
		other, err := h.GroupID(*want.GID)
		if err == nil && other.Name != want.Name {
			return fmt.Errorf("the gid %d belongs to the group %q", *want.GID, other.Name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, m := range want.Members {
		if _, err := h.User(m); errors.Is(err, fs.ErrNotExist) {
			return check.NotOnHost("user", strconv.Quote(m))
		} else if err != nil {
			return err
		}
	}
	return nil
}

func remove(ctx context.Context, h host.Host, have Group) error {
	if err := removable(h, have.Name); err != nil {
		return err
	}
	return run(ctx, h, "groupdel", "--", have.Name)
}

// removable is an error while the group is somebody's primary one.
func removable(h host.Host, name string) error {
	g, err := h.Group(name)
	if err != nil {
		return err
	}
	passwd, err := accounts.Load(h, accounts.Passwd)
	if err != nil {
		return err
	}
	for _, r := range passwd.Rows {
		if r.Field(3) == strconv.Itoa(g.GID) {
			return fmt.Errorf("%s is the primary group of the user %q, and cannot be removed before", name, r.Field(0))
		}
	}
	return nil
}

func run(ctx context.Context, h host.Processes, argv ...string) error {
	_, err := process.Run(ctx, h, host.Command{Argv: argv, Env: []string{"LC_ALL=C.UTF-8"}})
	return accounts.Explain(err)
}

// foresee does to the files of a Shadow what groupadd and its like would.
func foresee(ctx context.Context, h host.Host, have, want *Group) error {
	if err := accounts.Tool(ctx, h, "groupadd"); err != nil {
		return err
	}
	t, err := accounts.Load(h, accounts.Group)
	if err != nil {
		return err
	}
	gshadow, err := accounts.LoadSecret(h, accounts.Gshadow)
	if err != nil {
		return err
	}
	if want == nil {
		if err := removable(h, have.Name); err != nil {
			return err
		}
		t.Delete(have.Name)
	} else if err := foreseeRow(h, *want, t, gshadow); err != nil {
		return err
	}
	gshadow.Follow(t)
	return errors.Join(t.Save(ctx, h), gshadow.Save(ctx, h))
}

func foreseeRow(h host.Host, want Group, t, gshadow *accounts.Table) error {
	if err := possible(h, want); err != nil {
		return err
	}
	row := t.Find(want.Name)
	if len(row) < 4 {
		row = accounts.Row{want.Name, "x", strconv.Itoa(t.Free(want.System != nil && *want.System)), ""}
	}
	if want.GID != nil {
		row[2] = strconv.Itoa(*want.GID)
	}
	if want.Members != nil {
		row[3] = strings.Join(sorted(want.Members), ",")
		if secret := gshadow.Find(want.Name); len(secret) >= 4 {
			secret[3] = row[3]
		}
	}
	t.Put(row)
	return nil
}

// importGroup leaves the members to their user parts, which say it, too, and without
// which they would not be there.
func importGroup(ctx context.Context, h host.Host, key Group) (*Group, error) {
	return read(ctx, h, Group{Name: key.Name})
}

// list finds the groups that somebody has made: those with a number for people,
// but for the groups that users have of their own.
func list(_ context.Context, h host.Host, _ []string) ([]Group, error) {
	t, err := accounts.Load(h, accounts.Group)
	if err != nil {
		return nil, err
	}
	var found []Group
	for _, r := range t.Rows {
		name := r.Field(0)
		u, err := h.User(name)
		own := err == nil && strconv.Itoa(u.GID) == r.Field(2)
		if !own && accounts.OfPeople(h, r.Field(2), "GID") && validate(Group{Name: name}) == nil {
			found = append(found, Group{Name: name})
		}
	}
	return found, nil
}

// claims says who is in the group, which parts of type user may say otherwise.
func claims(values map[string]any, absent bool) []states.Claim {
	name, _ := values["name"].(string)
	members, given := values["members"].([]any)
	switch {
	case name == "" || !given && !absent:
		return nil
	case absent:
		return claim.Members(nil, "group", name, "that there is no group "+name)
	}
	var pairs [][2]string
	for _, m := range members {
		if m, ok := m.(string); ok {
			pairs = append(pairs, [2]string{m, name})
		}
	}
	return claim.Members(pairs, "group", name, "who is in the group "+name+", and nobody else")
}
