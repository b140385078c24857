// Package user is the module "user": an account of the host.
package user

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/modules/internal/accounts"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// User is the state of one account, wanted or observed. A nil attribute is not
// managed.
type User struct {
	Name       string   `state:"name,key,user" doc:"Name of the user."`
	UID        *int     `state:"uid" doc:"Number of the user."`
	Group      *string  `state:"group,of_group" doc:"Name or number of the primary group. Without it, a new user gets a group of the same name."`
	Groups     []string `state:"groups,set,of_group" doc:"The other groups that have the user as a member: these, and no others, unless append is true."`
	Comment    *string  `state:"comment" doc:"Full name, or what else the account's comment field holds."`
	Home       *string  `state:"home,below" doc:"Home directory. A change moves no files, unless move_home says so."`
	Shell      *string  `state:"shell,within" doc:"Login shell."`
	Password   *string  `state:"password,sensitive" doc:"Hash of the password, as openssl passwd -6 prints it, or * for none. It is never shown."`
	Locked     *bool    `state:"locked" doc:"Whether the password is locked. Other ways in, such as SSH keys, stay open: let the account expire to close them."`
	Expires    *string  `state:"expires" doc:"Last day of the account, such as \"2030-12-31\", or \"never\"."`
	Append     *bool    `state:"append,in" doc:"Whether the user stays in groups that groups does not name."`
	System     *bool    `state:"system,in" doc:"Makes a new user a system account: a low number and no home directory."`
	MoveHome   *bool    `state:"move_home,in" doc:"Whether the files of the home directory come along when home changes. The new one must not be there yet."`
	CreateHome *bool    `state:"create_home,in" doc:"Whether a new user's home directory is created, and belongs to the user; true by default, but for system accounts."`
}

const doc = `A user account, in the host's own files.

What is not given is not managed; a new user gets what useradd chooses. Groups and the login shell must be there before: declare the parts that bring them first, such as a group or a package. An earlier user part is known to what follows in the same plan, so that owner = "deploy" is certain.

A home directory that is there already stays as it is. If it belongs to a number that is nobody's, as after its account was removed, a new user without a uid gets that number. One that belongs to somebody else in another way, so that its user could not log in by a key, is an error for a new user and as a new home. Where it is the home that an existing user keeps, plan and apply say so in a note, and go on. Nothing in it is given away unasked.

Absent removes the account, and with it the user's own group. The home directory stays. While programs of the user run, that fails, and so does another number or the move of the home; the message names them.`

const example = `user "deploy" {
  groups  = ["www-data"]
  shell   = "/bin/bash"
  comment = "Deployment"
}

user "backup-agent" {
  system = true
  home   = "/var/lib/backup-agent"
}`

// Module is the module "user".
var Module = states.Define(states.Type[User]{
	Name: "user", Doc: doc, Example: example, Locks: []string{"accounts"}, Root: true,
	Validate: validate, Claims: claims, Read: read, Write: write, Remove: remove, Foresee: foresee, Import: importUser, List: list, Effects: effects,
})

// effects are what useradd and its like leave beside the account and its home.
func effects(want User, _ bool) states.Effects {
	name := states.Literal(want.Name)
	paths := []string{"/var/mail/" + name, "/var/spool/mail/" + name, "/var/log/lastlog", "/var/log/faillog", "/var/log/tallylog"}
	return states.Effects{Paths: append(paths, accounts.Traces()...)}
}

// never is the value of expires for an account without a last day.
const never = "never"

var hashPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\*|\$[0-9a-z]+\$[^:\s]+)$`) })

func validate(want User) error {
	if want.UID != nil && (*want.UID < 0 || int64(*want.UID) > 1<<32-2) {
		return states.InvalidAttribute("uid", fmt.Sprintf("%d is no number of a user", *want.UID), "write one from 0 to 4294967294; people mostly have 1000 and more")
	}
	if want.Password != nil && !hashPattern().MatchString(*want.Password) {
		e := states.InvalidAttribute("password", "it is no hash of a password", "make one with: openssl passwd -6")
		e.Open = true
		return e
	}
	if want.Expires != nil && *want.Expires != never {
		if day, err := time.Parse(time.DateOnly, *want.Expires); err != nil || day.Unix() < 0 {
			return states.InvalidAttribute("expires", fmt.Sprintf("%q is no day", *want.Expires), `write "2030-12-31" or "never"`)
		}
	}
	if len(want.Name) > 32 || strings.Trim(want.Name, "0123456789") == "" && want.Name != "" || strings.Trim(want.Name, ".") == "" && want.Name != "" {
		return states.InvalidAttribute("name", fmt.Sprintf("%.40q is no name of a user: at most 32 characters, and not digits alone", want.Name), "")
	}
	if want.Comment != nil && len(*want.Comment) > 1000 {
		return states.InvalidAttribute("comment", "it is too long for a line of /etc/passwd", "1000 bytes fit; put the rest elsewhere")
	}
	for _, g := range want.Groups {
		if err := check.Name("groups", g, "._-$"); err != nil {
			return err
		}
	}
	return errors.Join(
		check.Name("name", want.Name, "._-$"),
		check.Account("group", want.Group),
		check.Line("comment", want.Comment, ":"),
		check.Text("comment", want.Comment),
		check.Line("home", want.Home, ":"),
		check.Line("shell", want.Shell, ":"),
		check.OptionalPath("home", want.Home),
		check.OptionalPath("shell", want.Shell),
	)
}

func read(ctx context.Context, h host.Host, want User) (*User, error) {
	u, err := h.User(want.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	have := &User{
		Name: want.Name, UID: &u.UID, Group: owner.Group(h, u.GID, want.Group),
		Comment: &u.Comment, Home: &u.Home, Shell: &u.Shell,
	}
	noteStranger(ctx, h, *have, want)
	if want.Groups != nil {
		groups, err := accounts.Load(h, accounts.Group)
		if err != nil {
			return nil, err
		}
		have.Groups = groups.GroupsOf(want.Name)
		if check.True(want.Append) {
			have.Groups = slices.DeleteFunc(have.Groups, func(g string) bool { return !slices.Contains(want.Groups, g) })
		}
	}
	if want.Password == nil && want.Locked == nil && want.Expires == nil {
		return have, nil
	}
	if err := have.readShadow(h); err != nil {
		return nil, err
	}
	if *have.Password == "" && want.Locked == nil {
		have.Locked = nil // what has no password yet need not stay locked once it gets one
	}
	return have, nil
}

// readShadow reads what only root may: shadow(5), password in field 1, days
// from the epoch to the account's end in field 7.
func (u *User) readShadow(h host.Reader) error {
	t, err := accounts.Load(h, accounts.Shadow)
	if err != nil {
		return err
	}
	row := t.Find(u.Name)
	hash := strings.TrimLeft(row.Field(1), "!")
	u.Password, u.Locked = &hash, new(strings.HasPrefix(row.Field(1), "!"))
	u.Expires = new(never)
	if days, err := strconv.Atoi(row.Field(7)); err == nil {
		u.Expires = new(time.Unix(int64(days)*24*60*60, 0).UTC().Format(time.DateOnly))
	}
	return nil
}

func remove(ctx context.Context, h host.Host, have User) error {
	if err := removable(h, have.Name); err != nil {
		return err
	}
	return run(ctx, h, "", "userdel", "--", have.Name)
}

func run(ctx context.Context, h host.Processes, stdin string, argv ...string) error {
	_, err := process.Run(ctx, h, host.Command{Argv: argv, Stdin: []byte(stdin), Env: []string{"LC_ALL=C.UTF-8"}})
	return accounts.Explain(err)
}

// claims says in which groups the user is, which parts of type group may say otherwise.
func claims(values map[string]any, absent bool) []states.Claim {
	name, _ := values["name"].(string)
	groups, given := values["groups"].([]any)
	switch {
	case name == "" || !given && !absent:
		return nil
	case absent:
		return claim.Members(nil, "user", name, "that there is no user "+name)
	}
	var pairs [][2]string
	for _, g := range groups {
		if g, ok := g.(string); ok {
			pairs = append(pairs, [2]string{name, g})
		}
	}
	if values["append"] == true {
		return claim.Members(pairs, "", name, "in which groups "+name+" is")
	}
	return claim.Members(pairs, "user", name, "in which groups "+name+" is, and in no others")
}
