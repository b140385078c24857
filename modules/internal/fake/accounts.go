package fake

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/modules/internal/accounts"
	"github.com/tenetcm/tenet/runtime/host"
)

// Accounts adds useradd, usermod, userdel, chpasswd, groupadd, groupmod,
// groupdel and gpasswd.
func Accounts(h *host.Memory) {
	for name, options := range map[string]string{
		"useradd":  "--system --create-home --no-create-home --uid= --gid= --comment= -d= --home-dir= --shell= --groups= --expiredate=",
		"usermod":  "--lock --unlock --uid= --gid= --comment= -d= --home= --shell= --groups= --expiredate=",
		"userdel":  "",
		"chpasswd": "--encrypted",
		"groupadd": "--system --gid=",
		"groupmod": "--gid=",
		"groupdel": "",
		"gpasswd":  "--members=",
	} {
		handle(h, name, options, func(p *program) (host.Result, error) { return account(p, name) })
	}
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
		home := f.passwd.Find(name)[5]
		if err := p.write(home+"/.profile", Text(p.h, "/etc/skel/.profile")); err != nil {
			return host.Result{}, err
		}
	}
	return p.done()
}

func (f files) usermod(p *program) (host.Result, error) {
	f.change(p, p.args[0])
	return p.done()
}

// change applies the flags that useradd and usermod share.
func (f files) change(p *program, name string) {
	row := f.passwd.Find(name)
	for flag, i := range map[string]int{"--uid": 2, "--gid": 3, "--comment": 4, "-d": 5, "--shell": 6} {
		if v, ok := p.flags[flag]; ok {
			if g := f.group.Find(v); flag == "--gid" && g != nil {
				v = g[2]
			}
			row[i] = v
		}
	}
	if v, ok := p.flags["--groups"]; ok {
		f.group.SetGroupsOf(name, strings.Split(v, ","))
	}
	shadow := f.shadow.Find(name)
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
	f.passwd.Delete(name)
	f.shadow.Delete(name)
	f.group.SetGroupsOf(name, nil)
	f.group.Delete(name)
	return p.done()
}

func (f files) chpasswd(p *program) (host.Result, error) {
	name, hash, _ := strings.Cut(strings.TrimSpace(p.stdin), ":")
	f.shadow.Find(name)[1] = hash
	return p.done()
}

func (f files) groupadd(p *program) (host.Result, error) {
	_, system := p.flags["--system"]
	gid, ok := p.flags["--gid"]
	if !ok {
		gid = strconv.Itoa(f.group.Free(system))
	}
	f.group.Put(accounts.Row{p.args[0], "x", gid, ""})
	return p.done()
}

func (f files) groupmod(p *program) (host.Result, error) {
	f.group.Find(p.args[0])[2] = p.flags["--gid"]
	return p.done()
}

func (f files) groupdel(p *program) (host.Result, error) {
	gid := f.group.Find(p.args[0])[2]
	if i := slices.IndexFunc(f.passwd.Rows, func(r accounts.Row) bool { return r.Field(3) == gid }); i >= 0 {
		return p.fail(8, "groupdel: cannot remove the primary group of user '%s'", f.passwd.Rows[i][0])
	}
	f.group.Delete(p.args[0])
	return p.done()
}

func (f files) gpasswd(p *program) (host.Result, error) {
	f.group.Find(p.args[0])[3] = p.flags["--members"]
	return p.done()
}
