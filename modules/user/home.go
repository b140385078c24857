package user

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/accounts"
	"github.com/tenetcm/tenet/modules/internal/home"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// A home directory that stays when its account is removed belongs to a number without a
// name from then on. Where the account is made anew, it gets that number again, so that
// nothing in the home needs another owner. Where it has another one, that is noted: to go
// through a home and give away what is there is nothing to be done unasked.

// stranger describes the owner of a home directory who is neither the user nor anybody
// whose it may well be: a number without an account or, of a directory of the user's
// name, the account of another person. Empty: there is none.
func stranger(h host.Host, name, dir string, uid int) (owner string, number int) {
	info, err := h.Lstat(dir)
	if err != nil || info.Kind != host.Directory || info.UID == 0 || info.UID == uid {
		return "", 0
	}
	other, err := h.UserID(info.UID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("the number %d, which is nobody's", info.UID), info.UID
	case err == nil && path.Base(dir) == name && accounts.OfPeople(h, strconv.Itoa(info.UID), "UID"):
		return other.Name, info.UID
	}
	return "", 0
}

// keepsNumber gives a new user without a number that of the home directory, if the
// account to which that belonged is gone. What is above the home must be root's, so that
// nobody else decides which number it is.
func keepsNumber(h host.Host, have *User, want User) User {
	if have != nil || want.UID != nil || !makesHome(want) {
		return want
	}
	dir := homeOf(h, have, want)
	info, err := h.Lstat(dir)
	if err != nil || info.Kind != host.Directory || !accounts.OfPeople(h, strconv.Itoa(info.UID), "UID") {
		return want
	}
	if _, err := h.UserID(info.UID); !errors.Is(err, fs.ErrNotExist) {
		return want
	}
	if _, err := home.Real(h, host.User{Name: want.Name, UID: info.UID, Home: dir}); err != nil {
		return want
	}
	want.UID = &info.UID
	return want
}

// homeOf gives the home directory that the user is to have.
func homeOf(h host.Reader, have *User, want User) string {
	switch {
	case want.Home != nil:
		return *want.Home
	case have != nil:
		return *have.Home
	}
	return path.Join(accounts.Setting(h, "/etc/default/useradd", "HOME", "/home"), want.Name)
}

// checkHome is an error where an account is to get the home directory of somebody else, so
// that nobody could log in by a key in it.
func checkHome(h host.Host, have *User, want User) error {
	uid := -1
	switch {
	case !makesHome(want), have != nil && (want.Home == nil || *want.Home == *have.Home || moves(*have, want)):
		return nil
	case have != nil:
		uid = *have.UID // with another number usermod gives the home that one
	case want.UID != nil:
		uid = *want.UID
	}
	dir := homeOf(h, have, want)
	owner, number := stranger(h, want.Name, dir, uid)
	if owner == "" {
		return nil
	}
	return &states.FinalError{Err: &diag.HintError{
		Err: fmt.Errorf("%s, the home directory of %s, belongs to %s", dir, want.Name, owner),
		Hint: fmt.Sprintf("give it to the user with all that is the former owner's (%s, once the account is there), "+
			"name another home, or write create_home = false", handover(want.Name, dir, number)),
	}}
}

// noteStranger tells that the home directory which an account has, and keeps, is somebody
// else's.
func noteStranger(ctx context.Context, h host.Host, have, want User) {
	if !makesHome(want) || want.Home != nil && *want.Home != *have.Home {
		return
	}
	owner, number := stranger(h, have.Name, *have.Home, *have.UID)
	if owner == "" || want.UID != nil && *want.UID == number {
		return
	}
	states.Note(ctx, fmt.Sprintf("%s, the home directory of %s, belongs to %s: %[2]s cannot use it, nor log in by a key in it; "+
		"give it to the user with all that is the former owner's: %[4]s", *have.Home, have.Name, owner, handover(have.Name, *have.Home, number)))
}

// handover is the command that gives a user a home directory of a number, with all in it that
// belongs to that.
func handover(name, dir string, number int) string {
	return fmt.Sprintf("chown -R --from=%d %s: %s", number, name, dir)
}
