package user

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/accounts"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/fstab"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
)

func write(ctx context.Context, h host.Host, have *User, want User) error {
	want = keepsNumber(h, have, want)
	if err := possible(h, have, want); err != nil {
		return err
	}
	want, err := withOthers(h, want)
	if err != nil {
		return err
	}
	if have == nil {
		if err := run(ctx, h, "", useradd(h, want)...); err != nil {
			return err
		}
		have = &User{}
	} else if args := changes(*have, want); len(args) > 0 {
		if moves(*have, want) {
			args = append(args, "--move-home")
		}
		if err := run(ctx, h, "", append(append([]string{"usermod"}, args...), "--", want.Name)...); err != nil {
			return err
		}
	}
	return secure(ctx, h, *have, want)
}

// withOthers adds the groups that the user is in already, where these stay.
func withOthers(h host.Reader, want User) (User, error) {
	if want.Groups == nil || !check.True(want.Append) {
		return want, nil
	}
	t, err := accounts.Load(h, accounts.Group)
	if err == nil {
		want.Groups = sorted(append(t.GroupsOf(want.Name), want.Groups...))
	}
	return want, err
}

// possible finds what useradd and usermod would refuse, before anything is
// changed.
func possible(h host.Host, have *User, want User) error {
	if err := accounts.There(h, accounts.Passwd); err != nil {
		return err
	}
	if err := unlockable(have, want); err != nil {
		return err
	}
	if err := checkHome(h, have, want); err != nil {
		return err
	}
	if want.Shell != nil && (have == nil || *have.Shell != *want.Shell) {
		if err := startable(h, *want.Shell); err != nil {
			return err
		}
	}
	if have != nil && (moves(*have, want) || want.UID != nil && *want.UID != *have.UID) {
		if err := idle(h, want.Name); err != nil {
			return err
		}
	}
	if have != nil && moves(*have, want) {
		if _, err := h.Lstat(*want.Home); err == nil {
			return fmt.Errorf("%s is there already, so that the home directory cannot be moved there", *want.Home)
		}
	}
	if want.UID != nil {
		other, err := h.UserID(*want.UID)
		if err == nil && other.Name != want.Name {
			return fmt.Errorf("the uid %d belongs to the user %q", *want.UID, other.Name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if want.Group != nil {
		if _, err := owner.GID(h, *want.Group); err != nil {
			return err
		}
	}
	for _, g := range want.Groups {
		if _, err := h.Group(g); errors.Is(err, fs.ErrNotExist) {
			return check.NotOnHost("group", strconv.Quote(g))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// startable is an error where a login shell is not there: useradd would only warn, and
// nobody could log in.
func startable(h host.Reader, shell string) error {
	if shell == "" {
		return nil // it stands for /bin/sh
	}
	info, err := h.Lstat(fstab.RealPath(h, shell))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &diag.HintError{
			Err:  fmt.Errorf("shell: this host has no program %s, and nobody could log in", shell),
			Hint: "install it in a part that comes before this one or that this one requires, or name one of those in /etc/shells",
		}
	case err != nil:
		return err
	case info.Kind != host.Regular || info.Mode&0o111 == 0:
		return &diag.HintError{Err: fmt.Errorf("shell: %s is no program that can be started", shell), Hint: "name one of those in /etc/shells, or /usr/sbin/nologin for none"}
	}
	return nil
}

// moves reports whether the files of the home directory are to come along.
func moves(have, want User) bool {
	return check.True(want.MoveHome) && want.Home != nil && *have.Home != *want.Home
}

// unlockable is an error where nobody would need a password any more.
func unlockable(have *User, want User) error {
	hash := want.Password
	if hash == nil && have != nil {
		hash = have.Password
	}
	unlocks := want.Locked != nil && !*want.Locked && (have == nil || check.True(have.Locked))
	if unlocks && (hash == nil || *hash == "") {
		return fmt.Errorf("%s has no password, and without a lock could log in without one: give password, too", want.Name)
	}
	return nil
}

func useradd(h host.Accounts, want User) []string {
	argv := []string{"useradd"}
	if check.True(want.System) {
		argv = append(argv, "--system")
	}
	if makesHome(want) {
		argv = append(argv, "--create-home")
	} else {
		argv = append(argv, "--no-create-home")
	}
	if want.Group == nil {
		// Useradd refuses to make the user's own group where it is there.
		if _, err := h.Group(want.Name); err == nil {
			want.Group = &want.Name
		} else {
			argv = append(argv, "--user-group")
		}
	}
	return append(append(argv, changes(User{}, want)...), "--", want.Name)
}

func makesHome(want User) bool {
	if want.CreateHome != nil {
		return *want.CreateHome
	}
	return !check.True(want.System)
}

// changes gives the options, the same for useradd and usermod, that turn have
// into want.
func changes(have, want User) []string {
	var argv []string
	add := func(option string, have, want *string) {
		if want != nil && (have == nil || *have != *want) {
			argv = append(argv, option, *want)
		}
	}
	add("--uid", number(have.UID), number(want.UID))
	add("--gid", have.Group, want.Group)
	add("--comment", have.Comment, want.Comment)
	add("-d", have.Home, want.Home) // --home-dir in useradd, --home in usermod
	add("--shell", have.Shell, want.Shell)
	if want.Groups != nil && !slices.Equal(have.Groups, sorted(want.Groups)) {
		argv = append(argv, "--groups", strings.Join(sorted(want.Groups), ","))
	}
	if want.Expires != nil && (have.Expires == nil || *have.Expires != *want.Expires) {
		day := *want.Expires
		if day == never {
			day = ""
		}
		argv = append(argv, "--expiredate", day)
	}
	return argv
}

func number(n *int) *string {
	if n == nil {
		return nil
	}
	return new(strconv.Itoa(*n))
}

func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// secure sets the password, which goes through standard input so that no other
// process sees it, and then its lock.
func secure(ctx context.Context, h host.Host, have, want User) error {
	if want.Password != nil && (have.Password == nil || *have.Password != *want.Password) {
		if err := run(ctx, h, want.Name+":"+*want.Password+"\n", "chpasswd", "--encrypted"); err != nil {
			return err
		}
		have.Locked = new(false)
	}
	if want.Locked == nil || have.Locked != nil && *have.Locked == *want.Locked {
		return nil
	}
	if *want.Locked {
		return run(ctx, h, "", "usermod", "--lock", "--", want.Name)
	}
	return run(ctx, h, "", "usermod", "--unlock", "--", want.Name)
}
