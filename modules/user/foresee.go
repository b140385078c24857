package user

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/modules/internal/accounts"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// foresee does to the files of a Shadow what useradd, usermod and userdel
// would. Numbers that they choose are guessed; names are certain.
func foresee(ctx context.Context, h host.Host, have, want *User) error {
	if err := accounts.Tool(ctx, h, "useradd"); err != nil {
		return err
	}
	if want != nil {
		numbered := keepsNumber(h, have, *want)
		want = &numbered
		if err := possible(h, have, *want); err != nil {
			return err
		}
		all, err := withOthers(h, *want)
		if err != nil {
			return err
		}
		want = &all
	} else if err := removable(h, have.Name); err != nil {
		return err
	}
	passwd, err := accounts.Load(h, accounts.Passwd)
	if err != nil {
		return err
	}
	group, err := accounts.Load(h, accounts.Group)
	if err != nil {
		return err
	}
	shadow, err := accounts.LoadSecret(h, accounts.Shadow)
	if err != nil {
		return err
	}
	gshadow, err := accounts.LoadSecret(h, accounts.Gshadow)
	if err != nil {
		return err
	}
	if want == nil {
		foreseeGone(h, have.Name, passwd, group, shadow, gshadow)
	} else if err := foreseeRows(h, *want, passwd, group, shadow); err != nil {
		return err
	} else if want.Groups != nil {
		gshadow.SetGroupsOf(want.Name, want.Groups)
	}
	gshadow.Follow(group)
	if err := errors.Join(group.Save(ctx, h), gshadow.Save(ctx, h), passwd.Save(ctx, h), shadow.Save(ctx, h)); err != nil {
		return err
	}
	if want != nil && have != nil && moves(*have, *want) {
		return foreseeMove(h, passwd.Find(want.Name), *have.Home)
	}
	if have == nil && makesHome(*want) {
		return foreseeHome(ctx, h, passwd.Find(want.Name))
	}
	return nil
}

// foreseeGone removes the user, and the group of the same name where that is the
// user's own; userdel does so unless login.defs says otherwise.
func foreseeGone(h host.Reader, name string, passwd, group, shadow, gshadow *accounts.Table) {
	gid := passwd.Find(name).Field(3)
	passwd.Delete(name)
	shadow.Delete(name)
	group.SetGroupsOf(name, nil)
	gshadow.SetGroupsOf(name, nil)
	own := group.Find(name)
	if len(accounts.Members(own)) > 0 || own.Field(2) != gid || accounts.Setting(h, "/etc/login.defs", "USERGROUPS_ENAB", "yes") != "yes" {
		return
	}
	for _, r := range passwd.Rows {
		if r.Field(3) == gid {
			return // it is somebody's primary group
		}
	}
	group.Delete(name)
}

// foreseeMove makes the new home. What comes along is not looked at.
func foreseeMove(h host.Host, row accounts.Row, former string) error {
	info, err := h.Lstat(former)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // usermod moves nothing then
	}
	if err != nil {
		return err
	}
	return h.Mkdir(row.Field(5), host.Meta{Mode: &info.Mode, UID: &info.UID, GID: &info.GID})
}

func foreseeRows(h host.Host, want User, passwd, group, shadow *accounts.Table) error {
	row := passwd.Find(want.Name)
	if row == nil {
		row = accounts.Row{want.Name, "x", strconv.Itoa(passwd.Free(check.True(want.System))), "", "",
			path.Join(accounts.Setting(h, "/etc/default/useradd", "HOME", "/home"), want.Name),
			accounts.Setting(h, "/etc/default/useradd", "SHELL", "/bin/sh")}
		shadow.Put(accounts.Row{want.Name, "!", "", "", "", "", "", "", ""})
	}
	set := func(i int, value *string) {
		if value != nil && i < len(row) {
			row[i] = *value
		}
	}
	set(2, number(want.UID))
	set(4, want.Comment)
	set(5, want.Home)
	set(6, want.Shell)
	switch {
	case want.Group != nil:
		gid, err := owner.GID(h, *want.Group)
		if err != nil {
			return err
		}
		row[3] = strconv.Itoa(gid)
	case row[3] == "":
		row[3] = ownGroup(want, row[2], group)
	}
	passwd.Put(row)
	if want.Groups != nil {
		group.SetGroupsOf(want.Name, want.Groups)
	}
	foreseeShadow(want, shadow)
	return nil
}

// ownGroup gives the group of the user's name, which useradd makes with the
// user's number where that is free.
func ownGroup(want User, uid string, group *accounts.Table) string {
	if own := group.Find(want.Name); own != nil {
		return own.Field(2)
	}
	gid := uid
	for _, r := range group.Rows {
		if r.Field(2) == uid {
			gid = strconv.Itoa(group.Free(check.True(want.System)))
		}
	}
	group.Put(accounts.Row{want.Name, "x", gid, ""})
	return gid
}

func foreseeShadow(want User, shadow *accounts.Table) {
	row := shadow.Find(want.Name)
	if len(row) < 8 {
		return
	}
	if want.Password != nil {
		row[1] = *want.Password
	}
	if want.Locked != nil {
		row[1] = strings.TrimLeft(row[1], "!")
		if *want.Locked {
			row[1] = "!" + row[1]
		}
	}
	if want.Expires != nil {
		row[7] = ""
		if day, err := time.Parse(time.DateOnly, *want.Expires); err == nil {
			row[7] = strconv.FormatInt(day.Unix()/(24*60*60), 10)
		}
	}
}

// foreseeHome makes the home directory, with what useradd copies into it.
func foreseeHome(ctx context.Context, h host.Host, row accounts.Row) error {
	home := row.Field(5)
	uid, err := strconv.Atoi(row.Field(2))
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(row.Field(3))
	if err != nil {
		return err
	}
	mode, err := states.ParseMode(accounts.Setting(h, "/etc/login.defs", "HOME_MODE", "0755"))
	if err != nil {
		return err
	}
	if err := makeParents(h, path.Dir(home)); err != nil {
		return err
	}
	err = h.Mkdir(home, host.Meta{Mode: &mode, UID: &uid, GID: &gid})
	if errors.Is(err, fs.ErrExist) {
		return nil // useradd leaves a directory that is there as it is
	}
	if err != nil {
		return err
	}
	return copyTree(ctx, h, "/etc/skel", home, host.Meta{UID: &uid, GID: &gid})
}

// makeParents makes missing directories above a home, as useradd does.
func makeParents(h host.Host, dir string) error {
	if _, err := h.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeParents(h, path.Dir(dir)); err != nil {
		return err
	}
	return h.Mkdir(dir, host.Meta{})
}

// copyTree copies what is in a directory into another one.
func copyTree(ctx context.Context, h host.Host, from, to string, m host.Meta) error {
	entries, err := h.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyEntry(ctx, h, path.Join(from, e.Name), path.Join(to, e.Name), m); err != nil {
			return err
		}
	}
	return nil
}

func copyEntry(ctx context.Context, h host.Host, from, to string, m host.Meta) error {
	info, err := h.Lstat(from)
	if err != nil {
		return err
	}
	m.Mode = &info.Mode
	switch info.Kind {
	case host.Directory:
		if err := h.Mkdir(to, m); err != nil {
			return err
		}
		return copyTree(ctx, h, from, to, m)
	case host.Symlink:
		target, err := h.ReadLink(from)
		if err != nil {
			return err
		}
		return h.Symlink(target, to, m)
	case host.Regular:
		content, err := host.CopyContent(ctx, h, from, info)
		if err != nil {
			return err
		}
		return h.WriteFile(ctx, to, content, m)
	}
	return nil
}
