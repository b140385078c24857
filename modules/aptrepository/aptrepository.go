// Package aptrepository is the module "apt_repository": a source from which apt
// gets packages, and the key that it is signed with.
package aptrepository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Repository is the state of one source, wanted or observed. A nil attribute is not
// managed.
type Repository struct {
	Name          string         `state:"name,key" doc:"Name of the file in /etc/apt/sources.list.d, without .sources: letters, digits, \"_\", \"-\" and \".\"."`
	URIs          []string       `state:"uris,present,public" doc:"Where the packages are, such as \"https://deb.example.org/debian\"."`
	Suites        []string       `state:"suites,present" doc:"Releases, such as \"bookworm\"; or an exact directory below the URI, which ends in \"/\"."`
	Components    []string       `state:"components" doc:"Sections, such as \"main\"; none where the suite is a directory."`
	Types         []string       `state:"types" doc:"What to fetch: \"deb\" for packages, which a new source has, and \"deb-src\" for sources of packages."`
	Architectures []string       `state:"architectures" doc:"Architectures to fetch; without it those of the host."`
	SignedBy      *host.Content  `state:"signed_by" doc:"The public key with which the source is signed, as armored text; or the absolute path of a keyring that the host has. Without it any key counts that apt trusts."`
	Source        *states.Source `state:"source,in" doc:"File of the site with that key, armored or binary; in place of signed_by."`
	Enabled       *bool          `state:"enabled" doc:"Whether apt uses the source."`
	Trusted       *bool          `state:"trusted" doc:"Whether apt takes the source without any signature: then whoever can answer in its place is root here."`

	keyFile  string // that belongs to the source, if it has one
	foreign  string // what else the file holds, which no attribute says
	exposure string // whose its files are, if not root's alone; empty: they are
}

const doc = `A source from which apt gets packages, and the key that it is signed with.

The source is written as /etc/apt/sources.list.d/NAME.sources, which is as this part says and nothing else, and belongs to root. A key that is given is checked to be a public one and goes to /etc/apt/keyrings, as NAME.asc or, where it is binary, NAME.gpg; it is trusted for this source alone. Both are gone when the part is absent.

The package lists are not fetched at once, but before the next package is installed: that they are older than a source is seen by the files' times. So several sources cost one fetch, and a package after them, in the same run or a later one, sees what they offer. Until then a plan calls such a package uncertain. A key that is not the source's then makes the package fail, with what apt says about it.

A source in an older form (NAME.list) is not touched. Needs apt 1.4 or newer, and 2.4 for a key within the file, which is read and never written.`

const example = `apt_repository "backports" {
  uris       = ["https://mirror.example.test/debian"]
  suites     = ["bookworm-backports"]
  components = ["main"]
  signed_by  = "/usr/share/keyrings/debian-archive-keyring.gpg"
}

apt_repository "intern" {
  uris    = ["file:/srv/packages"]
  suites  = ["./"]
  trusted = true
}

apt_repository "old" {
  ensure = "absent"
}`

// Module is the module "apt_repository".
var Module = states.Define(states.Type[Repository]{
	Name: "apt_repository", Doc: doc, Example: example,
	New:   Repository{Types: []string{"deb"}, Enabled: new(true)},
	Locks: []string{"packages"}, Root: true,
	Validate: validate, Complete: complete,
	Read: read, Write: write, Remove: remove, Extra: extra,
	Import: importRepository, List: list,
})

const (
	etc      = "/etc/apt"
	sources  = etc + "/sources.list.d"
	keyrings = etc + "/keyrings"
	suffix   = ".sources"
)

func fileOf(name string) string { return sources + "/" + name + suffix }

// complete turns a source into the key that it holds, and takes the components from
// a source whose suite becomes a directory.
func complete(ctx context.Context, h host.Host, want *Repository) error {
	if want.Components == nil && len(want.Suites) > 0 && strings.HasSuffix(want.Suites[0], "/") {
		have, err := read(ctx, h, *want)
		if err != nil {
			return err
		}
		if have != nil && len(have.Components) > 0 {
			want.Components = []string{}
		}
	}
	if want.Source == nil {
		return nil
	}
	content, err := want.Source.Content()
	if err != nil {
		return fmt.Errorf("reading the source: %w", err)
	}
	text, inline := content.Inline()
	if !inline {
		return states.InvalidAttribute("source", "the file is too large for a key", "")
	}
	if err := checkKey("source", text); err != nil {
		return err
	}
	want.SignedBy = &content
	return nil
}

func read(_ context.Context, h host.Host, want Repository) (*Repository, error) {
	text, exposed, err := contentOf(h, fileOf(want.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	have := parse(text)
	have.Name, have.exposure = want.Name, exposed
	return have, readKey(h, have)
}

// readKey puts in the place of the key's path the key, if it belongs to the source.
func readKey(h host.Reader, r *Repository) error {
	if r.SignedBy == nil {
		return nil
	}
	signed, _ := r.SignedBy.Inline()
	if signed != keyFile(r.Name, true) && signed != keyFile(r.Name, false) {
		return nil
	}
	r.keyFile, r.SignedBy = signed, nil
	key, exposed, err := contentOf(h, signed)
	switch {
	case err == nil:
		r.SignedBy = new(host.Text(key))
		if exposed != "" {
			r.exposure = exposed
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// contentOf reads a file of ours, which is small. It is exposed where somebody else
// than root may change it, or where it is a key that apt, which checks it as a user of
// its own, may not read.
func contentOf(h host.Reader, name string) (text, exposed string, err error) {
	text, info, err := lines.Whole(h, name)
	if err != nil {
		return "", "", err
	}
	// In a tree that belongs to somebody else than root, so may its files.
	above, err := h.Lstat(etc)
	others := info.Mode&0o022 != 0 || err == nil && above.UID == 0 && info.UID != 0
	if unread := info.Mode&0o004 == 0 && path.Dir(name) == keyrings; others || unread {
		exposed = fmt.Sprintf("%s of user %d, %s", name, info.UID, states.FormatMode(info.Mode))
	}
	return text, exposed, err
}

func extra(have, _ Repository) []states.Change {
	var out []states.Change
	if have.foreign != "" {
		out = append(out, states.Change{Attribute: "name", From: have.foreign, To: have.Name})
	}
	if have.exposure != "" {
		out = append(out, states.Change{Attribute: "file", From: have.exposure, To: "root's, 0644"})
	}
	return out
}

// write puts the key in place before the file that names it.
func write(ctx context.Context, h host.Host, have *Repository, want Repository) error {
	if _, err := h.Lstat(etc); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errors.New("this host has no apt: there is no " + etc)
		}
		return err
	}
	signed, isOurs := "", false
	if want.SignedBy != nil {
		signed, _ = want.SignedBy.Inline()
		isOurs = !strings.HasPrefix(signed, "/") && signed != ""
	}
	if isOurs {
		file := keyFile(want.Name, isArmored(signed))
		if err := put(ctx, h, keyrings, file, signed); err != nil {
			return err
		}
		signed = file
	} else if err := isThere(h, signed); err != nil {
		return err
	}
	if err := put(ctx, h, sources, fileOf(want.Name), render(want, signed)); err != nil {
		return err
	}
	if have != nil && have.keyFile != "" && have.keyFile != signed {
		return removeFile(h, have.keyFile)
	}
	return nil
}

// isThere holds that a keyring of the host's own can be used.
func isThere(h host.Reader, keyring string) error {
	if keyring == "" {
		return nil
	}
	_, err := h.Lstat(keyring)
	if errors.Is(err, fs.ErrNotExist) {
		return states.InvalidAttribute("signed_by", "there is no keyring "+keyring,
			"declare what brings it before this part, or give the key itself")
	}
	return err
}

func put(ctx context.Context, h host.Host, dir, name, text string) error {
	if err := h.Mkdir(dir, host.Meta{}); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	above, err := h.Lstat(etc)
	if err != nil {
		return err
	}
	m := host.Meta{Mode: new(fs.FileMode(0o644))}
	if above.UID == 0 { // otherwise all of the tree is somebody's: see contentOf
		m.UID, m.GID = new(0), new(0)
	}
	return h.WriteFile(ctx, name, host.Text(text), m)
}

// remove takes the key away before the source, by which what is left is found if it
// is cut short.
func remove(_ context.Context, h host.Host, have Repository) error {
	if have.keyFile != "" {
		if err := removeFile(h, have.keyFile); err != nil {
			return err
		}
	}
	return removeFile(h, fileOf(have.Name))
}

func removeFile(h host.Host, name string) error {
	if err := h.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// importRepository leaves out what is as usual.
func importRepository(ctx context.Context, h host.Host, key Repository) (*Repository, error) {
	have, err := read(ctx, h, key)
	if err != nil || have == nil {
		return nil, err
	}
	if have.foreign != "" {
		return nil, fmt.Errorf("%s holds %s", fileOf(key.Name), have.foreign)
	}
	if check.True(have.Enabled) {
		have.Enabled = nil
	}
	if !check.True(have.Trusted) {
		have.Trusted = nil
	}
	if len(have.Types) == 1 && have.Types[0] == "deb" {
		have.Types = nil
	}
	if have.SignedBy != nil && have.SignedBy.Size() == 0 {
		have.SignedBy = nil
	}
	if len(have.Components) == 0 {
		have.Components = nil
	}
	if len(have.Architectures) == 0 {
		have.Architectures = nil
	}
	return have, nil
}

// list names the sources that are in a form which a part can say.
func list(ctx context.Context, h host.Host, _ []string) ([]Repository, error) {
	entries, err := h.ReadDir(sources)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []Repository
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name, suffix)
		if !ok || e.Kind != host.Regular || validName(name) != nil {
			continue
		}
		if have, err := read(ctx, h, Repository{Name: name}); err == nil && have != nil && have.foreign == "" {
			out = append(out, Repository{Name: name})
		}
	}
	return out, err
}
