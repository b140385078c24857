package user

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/accounts"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
)

// maxListed is how many programs an error names.
const maxListed = 3

// idle is an error while programs of a user run, with which userdel and usermod
// would fail.
func idle(h host.Host, name string) error {
	u, err := h.User(name)
	if err != nil {
		return err
	}
	entries, err := h.ReadDir("/proc")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var running []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name); err != nil {
			continue
		}
		info, err := h.Lstat("/proc/" + e.Name)
		if err != nil || info.UID != u.UID {
			continue // it has ended, or is of somebody else
		}
		comm, err := lines.LoadIfThere(h, "/proc/"+e.Name+"/comm")
		if err != nil || len(comm) == 0 {
			comm = lines.Text{{Line: "?"}}
		}
		running = append(running, e.Name+" ("+comm[0].Line+")")
	}
	if len(running) == 0 || u.UID == 0 {
		return nil
	}
	more := ""
	if len(running) > maxListed {
		more = fmt.Sprintf(" and %d more", len(running)-maxListed)
		running = running[:maxListed]
	}
	return fmt.Errorf("programs of %s still run: %s%s; stop them first", name, strings.Join(running, ", "), more)
}

// removable is an error where the account is needed.
func removable(h host.Host, name string) error {
	if name == "root" {
		return errors.New("root cannot be removed: the machine would belong to nobody; lock its password with locked = true")
	}
	return idle(h, name)
}

// importUser leaves out what a new user has, too, and what cannot be said without
// the password.
func importUser(ctx context.Context, h host.Host, key User) (*User, error) {
	have, err := read(ctx, h, User{Name: key.Name, Group: new(""), Groups: []string{}, Expires: new("")})
	if errors.Is(err, fs.ErrPermission) {
		have, err = read(ctx, h, User{Name: key.Name, Group: new(""), Groups: []string{}})
	}
	if err != nil || have == nil {
		return nil, err
	}
	if *have.Group == have.Name {
		have.Group = nil
	}
	if len(have.Groups) == 0 {
		have.Groups = nil
	}
	if *have.Comment == "" {
		have.Comment = nil
	}
	if have.Expires != nil && *have.Expires == never {
		have.Expires = nil
	}
	if !check.True(have.Locked) {
		have.Locked = nil
	}
	return have, nil
}

// list finds the accounts that somebody has made: those with a number for people.
func list(_ context.Context, h host.Host, _ []string) ([]User, error) {
	passwd, err := accounts.Load(h, accounts.Passwd)
	if err != nil {
		return nil, err
	}
	var found []User
	for _, r := range passwd.Rows {
		if accounts.OfPeople(h, r.Field(2), "UID") && validate(User{Name: r.Field(0)}) == nil {
			found = append(found, User{Name: r.Field(0)})
		}
	}
	return found, nil
}
