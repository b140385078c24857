package simulated

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/accounts"
	"github.com/tenetcm/tenet/runtime/host"
)

// accounts adds the described groups and users: groups first, since users name
// them; then the members of groups, which name users.
func (b *builder) accounts(m Machine) {
	if b.err != nil || len(m.Users)+len(m.Groups) == 0 {
		return
	}
	f, err := b.tables()
	if err != nil {
		b.err = err
		return
	}
	addEach(b, "group", m.Groups, func(name string, g Group) error { return f.describeGroup(name, g) })
	addEach(b, "user", m.Users, func(name string, u User) error { return f.describeUser(name, u) })
	addEach(b, "group", m.Groups, func(name string, g Group) error { return f.describeMembers(name, g) })
	for _, t := range []*accounts.Table{f.passwd, f.shadow, f.group} {
		b.must(t.Save(b.ctx, b.h))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Users)) {
		if home := row(f.passwd, name, 7)[5]; b.err == nil && strings.HasPrefix(home, "/home/") {
			uid, err := strconv.Atoi(row(f.passwd, name, 7)[2])
			b.must(err)
			b.must(b.home(home, uid))
		}
	}
}

func (b *builder) tables() (files, error) {
	var f files
	var errs [3]error
	f.passwd, errs[0] = accounts.Load(b.h, accounts.Passwd)
	f.shadow, errs[1] = accounts.Load(b.h, accounts.Shadow)
	f.group, errs[2] = accounts.Load(b.h, accounts.Group)
	return f, errors.Join(errs[:]...)
}

// home makes a user's directory.
func (b *builder) home(dir string, uid int) error {
	if err := MakeDirectory(b.h, dir, nil); err != nil {
		return err
	}
	u, err := b.h.UserID(uid)
	if err != nil {
		return err
	}
	meta, err := Meta{Owner: u.Name, Group: strconv.Itoa(u.GID)}.resolve(b.h)
	if err != nil {
		return err
	}
	return b.h.SetMeta(dir, meta)
}

func checkAccount(name string) error {
	if name == "" || strings.ContainsAny(name, ":,\n\x00 /") || strings.HasPrefix(name, "-") {
		return errors.New("this is no name of an account")
	}
	return nil
}

func (f files) describeGroup(name string, g Group) error {
	if err := checkAccount(name); err != nil {
		return err
	}
	if f.group.Find(name) != nil && g.GID == nil {
		return nil // described for its members
	}
	gid := f.group.Free(false)
	if g.GID != nil {
		gid = *g.GID
	}
	f.group.Put(accounts.Row{name, "x", strconv.Itoa(gid), ""})
	return nil
}

func (f files) describeUser(name string, u User) error {
	if err := checkAccount(name); err != nil {
		return err
	}
	uid := f.passwd.Free(false)
	if u.UID != nil {
		uid = *u.UID
	}
	gid := strconv.Itoa(uid)
	switch own := f.group.Find(name); {
	case u.Group != "":
		line := f.group.Find(u.Group)
		if line == nil {
			return fmt.Errorf("there is no group %q", u.Group)
		}
		gid = line.Field(2)
	case own != nil:
		gid = own.Field(2)
	default:
		f.group.Put(accounts.Row{name, "x", gid, ""})
	}
	for _, g := range u.Groups {
		if f.group.Find(g) == nil {
			return fmt.Errorf("there is no group %q", g)
		}
	}
	text := func(given, otherwise string) string {
		if given != "" {
			return given
		}
		return otherwise
	}
	line := accounts.Row{name, "x", strconv.Itoa(uid), gid, u.Comment, text(u.Home, "/home/"+name), text(u.Shell, "/bin/sh")}
	for _, field := range append(slices.Clone(line), u.Password) {
		if strings.ContainsAny(field, ":\n\x00") {
			return fmt.Errorf("%q cannot stand in /etc/passwd or /etc/shadow", field)
		}
	}
	f.passwd.Put(line)
	f.shadow.Put(accounts.Row{name, text(u.Password, "!"), "19000", "0", "99999", "7", "", "", ""})
	if len(u.Groups) > 0 {
		f.group.SetGroupsOf(name, u.Groups)
	}
	return nil
}

func (f files) describeMembers(name string, g Group) error {
	if g.Members == nil {
		return nil
	}
	for _, m := range g.Members {
		if f.passwd.Find(m) == nil {
			return fmt.Errorf("there is no user %q", m)
		}
	}
	row(f.group, name, 4)[3] = strings.Join(g.Members, ",")
	return nil
}

// GroupsOf lists the groups that have the user as a member, sorted, without its
// primary one.
func GroupsOf(h host.Reader, user string) []string {
	t, err := accounts.Load(h, accounts.Group)
	if err != nil {
		return nil
	}
	return t.GroupsOf(user)
}

// PasswordOf gives what stands for the user's password in /etc/shadow.
func PasswordOf(h host.Reader, user string) string {
	t, err := accounts.Load(h, accounts.Shadow)
	if err != nil {
		return ""
	}
	return t.Find(user).Field(1)
}
