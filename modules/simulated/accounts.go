package simulated

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/modules/internal/accounts"
	"github.com/tenetcm/tenet/runtime/host"
)

// AddAccounts adds useradd, usermod, userdel, chpasswd, groupadd, groupmod,
// groupdel and gpasswd.
func AddAccounts(h *host.Memory) error {
	s := &suite{h: h}
	for name, options := range map[string]string{
		"useradd":  "--help --system --create-home --no-create-home --user-group --uid= --gid= --comment= -d= --home-dir= --shell= --groups= --expiredate=",
		"usermod":  "--lock --unlock --move-home --uid= --gid= --comment= -d= --home= --shell= --groups= --expiredate=",
		"userdel":  "",
		"chpasswd": "--encrypted",
		"groupadd": "--help --system --gid=",
		"groupmod": "--gid=",
		"groupdel": "",
		"gpasswd":  "--members=",
	} {
		least := 1
		if name == "chpasswd" {
			least = 0
		}
		s.handle(name, options, least, func(p *program) (host.Result, error) { return account(p, name) })
	}
	return nil
}

// files are the three tables that the programs change.
type files struct{ passwd, shadow, group *accounts.Table }

func account(p *program, name string) (host.Result, error) {
	var f files
	var err error
	for path, t := range map[string]**accounts.Table{
		accounts.Passwd: &f.passwd, accounts.Shadow: &f.shadow, accounts.Group: &f.group,
	} {
		if *t, err = accounts.Load(p.h, path); err != nil {
			return host.Result{}, err
		}
	}
	acts := map[string]func(*program) (host.Result, error){
		"useradd": f.useradd, "usermod": f.usermod, "userdel": f.userdel, "chpasswd": f.chpasswd,
		"groupadd": f.groupadd, "groupmod": f.groupmod, "groupdel": f.groupdel, "gpasswd": f.gpasswd,
	}
	r, err := acts[name](p)
	if err == nil && r.ExitCode == 0 {
		err = errors.Join(f.passwd.Save(p.ctx, p.h), f.shadow.Save(p.ctx, p.h), f.group.Save(p.ctx, p.h))
	}
	return r, err
}

func (f files) useradd(p *program) (host.Result, error) {
	name := p.args[0]
	if f.passwd.Find(name) != nil {
		return p.fail(9, "useradd: user '%s' already exists", name)
	}
	_, system := p.flags["--system"]
	uid := strconv.Itoa(f.passwd.Free(system))
	gid := uid
	if given, ok := p.flags["--uid"]; ok {
		uid, gid = given, given
	}
	if _, ok := p.flags["--gid"]; !ok {
		if f.group.Find(name) != nil {
			return p.fail(9, "useradd: group %s exists - if you want to add this user to that group, use -g.", name)
		}
		f.group.Put(accounts.Row{name, "x", gid, ""})
	}
	f.passwd.Put(accounts.Row{name, "x", uid, gid, "", "/home/" + name, "/bin/sh"})
	f.shadow.Put(accounts.Row{name, "!", "19000", "0", "99999", "7", "", "", ""})
	f.change(p, name)
	if _, ok := p.flags["--create-home"]; ok {
		home := row(f.passwd, name, 7)[5]
		if _, err := p.h.Lstat(home); err == nil {
			return p.result() // it stays as it is
		}
		if err := p.write(home+"/.profile", Text(p.h, "/etc/skel/.profile")); err != nil {
			return host.Result{}, err
		}
		owner, err := strconv.Atoi(row(f.passwd, name, 7)[2])
		if err == nil {
			err = errors.Join(p.h.SetMeta(home, host.Meta{UID: &owner}), p.h.SetMeta(home+"/.profile", host.Meta{UID: &owner}))
		}
		if err != nil {
			return host.Result{}, err
		}
	}
	return p.result()
}

func (f files) usermod(p *program) (host.Result, error) {
	if f.passwd.Find(p.args[0]) == nil {
		return p.fail(6, "usermod: user '%s' does not exist", p.args[0])
	}
	f.change(p, p.args[0])
	return p.result()
}

// change applies the flags that useradd and usermod share.
func (f files) change(p *program, name string) {
	line := row(f.passwd, name, 7)
	for flag, i := range map[string]int{"--uid": 2, "--gid": 3, "--comment": 4, "-d": 5, "--shell": 6} {
		if v, ok := p.flags[flag]; ok {
			if g := f.group.Find(v); flag == "--gid" && g != nil {
				v = g.Field(2)
			}
			line[i] = v
		}
	}
	if v, ok := p.flags["--groups"]; ok {
		f.group.SetGroupsOf(name, strings.Split(v, ","))
	}
	shadow := row(f.shadow, name, 9)
	if v, ok := p.flags["--expiredate"]; ok {
		shadow[7] = ""
		if day, err := time.Parse(time.DateOnly, v); err == nil {
			shadow[7] = strconv.Itoa(int(day.Unix() / 86400))
		}
	}
	if _, ok := p.flags["--lock"]; ok {
		shadow[1] = "!" + shadow[1]
	}
	if _, ok := p.flags["--unlock"]; ok {
		shadow[1] = strings.TrimPrefix(shadow[1], "!")
	}
}

func (f files) userdel(p *program) (host.Result, error) {
	name := p.args[0]
	if f.passwd.Find(name) == nil {
		return p.fail(6, "userdel: user '%s' does not exist", name)
	}
	f.passwd.Delete(name)
	f.shadow.Delete(name)
	f.group.SetGroupsOf(name, nil)
	f.group.Delete(name)
	return p.result()
}

func (f files) chpasswd(p *program) (host.Result, error) {
	name, hash, _ := strings.Cut(strings.TrimSpace(p.stdin), ":")
	if f.passwd.Find(name) == nil {
		return p.fail(1, "chpasswd: (user %s) pam_chauthtok() failed", name)
	}
	row(f.shadow, name, 9)[1] = hash
	return p.result()
}

func (f files) groupadd(p *program) (host.Result, error) {
	_, system := p.flags["--system"]
	if f.group.Find(p.args[0]) != nil {
		return p.fail(9, "groupadd: group '%s' already exists", p.args[0])
	}
	gid, ok := p.flags["--gid"]
	if !ok {
		gid = strconv.Itoa(f.group.Free(system))
	}
	f.group.Put(accounts.Row{p.args[0], "x", gid, ""})
	return p.result()
}

func (f files) groupmod(p *program) (host.Result, error) {
	if f.group.Find(p.args[0]) == nil {
		return p.fail(6, "groupmod: group '%s' does not exist", p.args[0])
	}
	row(f.group, p.args[0], 4)[2] = p.flags["--gid"]
	return p.result()
}

func (f files) groupdel(p *program) (host.Result, error) {
	group := f.group.Find(p.args[0])
	if group == nil {
		return p.fail(6, "groupdel: group '%s' does not exist", p.args[0])
	}
	gid := group.Field(2)
	if i := slices.IndexFunc(f.passwd.Rows, func(r accounts.Row) bool { return r.Field(3) == gid }); i >= 0 {
		return p.fail(8, "groupdel: cannot remove the primary group of user '%s'", f.passwd.Rows[i][0])
	}
	f.group.Delete(p.args[0])
	return p.result()
}

func (f files) gpasswd(p *program) (host.Result, error) {
	if f.group.Find(p.args[0]) == nil {
		return p.fail(1, "gpasswd: group '%s' does not exist in /etc/group", p.args[0])
	}
	row(f.group, p.args[0], 4)[3] = p.flags["--members"]
	return p.result()
}

// row gives the line of a name with all its fields, to be changed in place. A
// line that is missing is made.
func row(t *accounts.Table, name string, fields int) accounts.Row {
	line := t.Find(name)
	if len(line) < fields {
		full := make(accounts.Row, fields)
		copy(full, line)
		full[0] = name
		t.Put(full)
		line = full
	}
	return line
}
