// Package authorizedkeys is the module "authorized_keys": the keys by which a user
// may log in through SSH.
package authorizedkeys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/modules/internal/sshkey"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// AuthorizedKeys is the keys of one user, wanted or observed.
type AuthorizedKeys struct {
	User      string   `state:"user,key,of_user" doc:"Name of the user, who must be there, with a home directory, unless path is given."`
	Path      *string  `state:"path,key,optional,path" doc:"Absolute path of the file, where sshd looks elsewhere than in the home, as \"/etc/ssh/authorized_keys/alice\" by AuthorizedKeysFile /etc/ssh/authorized_keys/%u."`
	Keys      []string `state:"keys,set,required" doc:"The keys, each as ssh-keygen writes it: type, key and comment, with options before them where there are any. Of absent keys, too, so that no others are removed."`
	Exclusive *bool    `state:"exclusive,in,widens" doc:"Whether these are all keys that let the user in: others are removed."`

	// defects is what Read found to be wrong beside the keys.
	defects []states.Change
}

const doc = `The keys by which a user may log in through SSH, in ~/.ssh/authorized_keys.

A key that is there already gets the options and the comment that are wanted, in its place; new ones come at the end. Other lines stay as they are, unless the keys are exclusive: then comments stay, and all else goes. The file belongs to the user and has mode 0600; a missing directory is made with mode 0700, and one that others may write to gets that.

The home directory is the user's. A symbolic link in the place of the file or of .ssh is an error, so that nobody can lead root to a file of somebody else; so is what belongs to another user than the owner of the account or root.

With path the file belongs to root and has mode 0644, so that the user can read it, as sshd does, and not change it. Its directory must be there; it and all above it must be root's, with nobody else who may write to them: else sshd passes over the file.

Keys are checked before anything is changed: the type must be one that OpenSSH takes today, and that of the key within. Absent removes the given keys, and all of them where they are exclusive. Where these keys are how you come in yourself, put the part into a block with confirm, whose command tries to log in.`

const example = `user "deploy" {
  shell = "/bin/bash"
}

authorized_keys "deploy" {
  require = [user.deploy]
  keys = [
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGaDKCEuqem8pbzUlITp2rGeMIFwXHm/tjYTy6Eff63 alice@example.test",
    "restrict,command=\"/usr/bin/uptime\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICrFlLYYldOmS3Eh3mCy1N9cbhisWPDQITX3r1Q7kt2E monitoring",
  ]
  exclusive = true
}`

// Module is the module "authorized_keys".
var Module = states.Define(states.Type[AuthorizedKeys]{
	Name: "authorized_keys", Doc: doc, Example: example, Locks: []string{"home/%s"}, Root: true,
	Validate: validate, Extra: func(have, _ AuthorizedKeys) []states.Change { return have.defects },
	Read: read, Write: write, Remove: remove, Import: importKeys, List: list,
})

const (
	folder = ".ssh"
	file   = "authorized_keys"
)

func validate(want AuthorizedKeys) error {
	if err := check.Name("user", want.User, "._-$@\\+"); err != nil {
		return err
	}
	if want.Path != nil {
		if err := check.Path("path", *want.Path); err != nil {
			return err
		}
		if strings.ContainsRune(*want.Path, '%') {
			return states.InvalidAttribute("path", "it names the file of one user, and what sshd puts for % is not known here",
				"write the user's name in place of %u")
		}
	}
	_, err := parse(want.Keys)
	return err
}

// parse reads the wanted keys.
func parse(texts []string) ([]sshkey.Key, error) {
	var keys []sshkey.Key
	for _, text := range texts {
		e := &states.AttributeError{Attribute: "keys"}
		if err := check.Text("keys", &text); err != nil {
			return nil, err
		}
		k, err := sshkey.Parse(text)
		switch {
		case err != nil:
			e.Message = err.Error()
			e.Hint = "write the line of a file such as id_ed25519.pub"
			return nil, e
		case k.String() != text:
			e.Message = fmt.Sprintf("%.60q has space that does not belong there", text)
			return nil, e
		case slices.ContainsFunc(keys, k.Same):
			e.Message = fmt.Sprintf("the key %.60q is given twice", text)
			return nil, e
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// isComment tells lines that are no keys.
func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#")
}

// matchKey finds the lines of a key.
func matchKey(key sshkey.Key) func(string) bool {
	return func(line string) bool {
		k, err := sshkey.Parse(line)
		return err == nil && !isComment(line) && k.Same(key)
	}
}

func read(_ context.Context, h host.Host, want AuthorizedKeys) (*AuthorizedKeys, error) {
	f, err := open(h, want)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // without a user, a home or the directory there are no keys
	}
	if err != nil {
		return nil, err
	}
	text, there, wrong, err := f.load()
	if err != nil || !there {
		return nil, err
	}
	keys, err := parse(want.Keys)
	if err != nil {
		return nil, err
	}
	have := &AuthorizedKeys{User: want.User, Path: want.Path, Exclusive: want.Exclusive, Keys: []string{}, defects: wrong}
	if exclusive(want) {
		have.Keys = loginLines(text)
		return have, nil
	}
	for _, key := range keys {
		for _, i := range text.Find(matchKey(key)) {
			have.Keys = append(have.Keys, canonical(text[i].Line))
		}
	}
	if len(have.Keys) == 0 && len(keys) > 0 {
		return nil, nil
	}
	slices.Sort(have.Keys)
	return have, nil
}

// loginLines are the lines that may let somebody in, sorted.
func loginLines(text lines.Text) []string {
	keys := []string{}
	for _, r := range text {
		if !isComment(r.Line) {
			keys = append(keys, canonical(r.Line))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// canonical is a line as a site would write it. One that is no key stays as it is.
func canonical(line string) string {
	if k, err := sshkey.Parse(line); err == nil {
		return k.String()
	}
	return line
}

func exclusive(a AuthorizedKeys) bool { return a.Exclusive != nil && *a.Exclusive }

func write(ctx context.Context, h host.Host, _ *AuthorizedKeys, want AuthorizedKeys) error {
	keys, err := parse(want.Keys)
	if err != nil {
		return err
	}
	f, err := open(h, want)
	if err != nil {
		return err
	}
	text, _, _, err := f.load()
	if err != nil {
		return err
	}
	if exclusive(want) {
		wanted := func(line string) bool {
			return isComment(line) || slices.ContainsFunc(keys, func(k sshkey.Key) bool { return matchKey(k)(line) })
		}
		text = text.Without(text.Find(func(line string) bool { return !wanted(line) }), -1)
	}
	for _, key := range keys {
		text = text.Set(text.Find(matchKey(key)), key.String())
	}
	return f.save(ctx, text)
}

// remove takes away the keys that Read found.
func remove(ctx context.Context, h host.Host, have AuthorizedKeys) error {
	f, err := open(h, have)
	if err != nil {
		return err
	}
	text, _, _, err := f.load()
	if err != nil {
		return err
	}
	gone := func(line string) bool { return !isComment(line) && slices.Contains(have.Keys, canonical(line)) }
	text = text.Without(text.Find(gone), -1)
	if exclusive(have) || strings.TrimSpace(text.String()) == "" {
		return f.remove()
	}
	return f.save(ctx, text)
}

// importKeys reads all keys that can be declared.
func importKeys(ctx context.Context, h host.Host, key AuthorizedKeys) (*AuthorizedKeys, error) {
	have, err := read(ctx, h, AuthorizedKeys{User: key.User, Path: key.Path, Exclusive: new(true)})
	if err != nil || have == nil {
		return nil, err
	}
	have.Keys = slices.DeleteFunc(have.Keys, func(line string) bool { _, err := parse([]string{line}); return err != nil })
	return have, nil
}

// list finds the users who have such a file.
func list(ctx context.Context, h host.Host, _ []string) ([]AuthorizedKeys, error) {
	passwd, err := lines.LoadIfThere(h, "/etc/passwd")
	var found []AuthorizedKeys
	for _, r := range passwd {
		name, _, _ := strings.Cut(r.Line, ":")
		f, err := open(h, AuthorizedKeys{User: name})
		if err != nil {
			continue // no home, or one that is not to be looked into
		}
		if text, there, _, err := f.load(); err == nil && there && len(loginLines(text)) > 0 {
			found = append(found, AuthorizedKeys{User: name})
		}
	}
	return found, err
}
