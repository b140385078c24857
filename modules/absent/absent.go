// Package absent is the module "absent": nothing stands at a path.
package absent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/trees"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Absent is a path at which nothing shall be, and what was removed from there.
type Absent struct {
	Path  string `state:"path,key,path" doc:"Absolute path at which nothing is to be."`
	Force *bool  `state:"force,in" doc:"Removes a directory with all that is in it; otherwise one that is not empty is an error."`

	Kind    *string `state:"kind,out" doc:"What was there: \"file\", \"directory\", \"symlink\" or \"special file\"."`
	Entries *int    `state:"entries,out" doc:"How many files, links and directories were there, the one at the path included."`
	Bytes   *int    `state:"bytes,out" doc:"The sum of the sizes of the regular files among them, in bytes."`
}

const doc = `A path at which nothing is.

A file, a symbolic link, a special file or an empty directory there is removed; with force, a directory with all that is in it. It is for what the site has not created, such as what a package or a former tool has left behind. What a part of the site creates goes with ensure = "absent", or when its declaration is taken away and the site prunes.

A plan tells what is there, and how many entries and bytes would go. Symbolic links are removed, never followed. A path on which a file system is mounted, or below which one is, is left alone, with an error; so is /, and a directory with others in it more than 2048 deep. Where nothing is there, or the directory that contains it is missing, there is nothing to do.`

const example = `absent "/etc/nginx/sites-enabled/default" {}

absent "/opt/former-agent" {
  force = true
}`

// Module is the module "absent".
var Module = states.Define(states.Type[Absent]{
	Name: "absent", Doc: doc, Example: example,
	NoAbsent: "The type itself says that nothing is at the path.",
	Validate: validate, Claims: claims, Act: act, Changes: changes, Effects: effects,
})

func validate(want Absent) error {
	if path.Clean(want.Path) == "/" {
		return states.InvalidAttribute("path", "/ cannot be removed", "name what is to go")
	}
	return check.Path("path", want.Path)
}

// claims says that nothing is at the path, so that a part which puts something there is found.
func claims(values map[string]any, _ bool) []states.Claim {
	at, _ := values["path"].(string)
	if at == "" {
		return nil
	}
	return []states.Claim{{Relation: "kind", Of: at, Is: "nothing", OnlyOf: true, Says: "that nothing is at " + at}}
}

// effects are those of an act that a plan cannot look at, since it does not know yet what
// will be there.
func effects(want Absent, _ bool) states.Effects {
	return states.Effects{Paths: []string{states.Literal(want.Path)}}
}

func act(ctx context.Context, h host.Host, want Absent) (bool, Absent, error) {
	found, err := look(ctx, h, want)
	if err != nil || found.Kind == nil {
		return false, found, err
	}
	if check.True(want.Force) {
		err = trees.Remove(ctx, h, want.Path)
	} else if err = h.Remove(want.Path); errors.Is(err, fs.ErrExist) { // it has been filled meanwhile
		err = &diag.HintError{Err: err, Hint: hintForce}
	}
	if host.IsGone(err) { // somebody else was faster
		err = nil
	}
	return err == nil, found, err
}

const hintForce = "force = true removes it with all that is in it"

// look finds what is at the path, and whether it may go.
func look(ctx context.Context, h host.Host, want Absent) (Absent, error) {
	found := Absent{Path: want.Path, Force: want.Force}
	at, err := host.OpenPlace(h, want.Path)
	if host.IsGone(err) {
		return found, nil
	}
	if err != nil {
		return found, err
	}
	defer at.Dir.Close()
	info, err := at.Dir.Lstat(at.Name)
	if host.IsGone(err) {
		return found, nil
	}
	if err != nil {
		return found, err
	}
	size, err := host.Measure(ctx, at.Dir, at.Name)
	switch {
	case err != nil:
		return found, trees.Explain(want.Path, err)
	case size.Mount != "":
		return found, &diag.HintError{Err: fmt.Errorf("%s: %w", path.Join(path.Dir(want.Path), size.Mount), host.ErrMount),
			Hint: "unmount it, or leave the path alone"}
	case size.Entries > 1 && !check.True(want.Force):
		return found, &diag.HintError{Message: fmt.Sprintf("%s is a directory with %s in it", want.Path, entries(size.Entries-1)),
			Hint: hintForce}
	}
	found.Kind, found.Entries, found.Bytes = new(string(info.Kind)), new(size.Entries), new(int(size.Bytes))
	return found, nil
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// changes tells what goes.
func changes(gone Absent) []states.Change {
	if gone.Kind == nil {
		return nil
	}
	list := []states.Change{{Attribute: "kind", From: *gone.Kind}}
	if *gone.Kind == string(host.Directory) {
		list = append(list, states.Change{Attribute: "entries", From: *gone.Entries})
	}
	if *gone.Bytes > 0 {
		list = append(list, states.Change{Attribute: "bytes", From: *gone.Bytes})
	}
	return list
}
