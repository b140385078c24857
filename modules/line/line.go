// Package line is the module "line": one line of a text file.
package line

import (
	"context"
	"errors"
	"io/fs"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Line is one line of a file, wanted or observed. A nil attribute is not
// managed.
type Line struct {
	Path   string  `state:"path,key,path" doc:"Absolute path of the file."`
	Line   string  `state:"line,key" doc:"The whole line, without its end."`
	Match  *string `state:"match,in,widens" doc:"Regular expression (RE2) of lines that the line stands for: an equal line, else the first that matches, becomes the line, and the others are removed."`
	After  *string `state:"after,in" doc:"Regular expression: a new line is put after the last line that matches, or at the end where none does."`
	Before *string `state:"before,in" doc:"Regular expression: a new line is put before the first line that matches, or at the end where none does."`
	Create *bool   `state:"create,in" doc:"Creates a missing file, which otherwise is an error."`

	// What Read found: the lines to replace or remove, as they are.
	former []string
}

const doc = `One line of a text file is there, or is not.

Lines are compared as a whole. With match, the line stands for all that matches: after the act the file holds it once, and nothing else that matches. The file keeps its owner, mode and line ends (also CR LF, and a missing last one). An existing line is not moved to where after and before would put a new one.

Absent removes all lines that equal the line or match; a missing file is nothing to do.

The file must be a regular one of at most 1 MiB; a symbolic link is an error. To write a whole file, use file.`

const example = `line "no root login" {
  path  = "/etc/ssh/sshd_config"
  line  = "PermitRootLogin no"
  match = "^#?\\s*PermitRootLogin\\s"
}`

// Module is the module "line".
var Module = states.Define(states.Type[Line]{
	Name: "line", Doc: doc, Example: example,
	Validate: validate, Claims: claims, Extra: differences,
	Read: read, Write: write, Remove: remove,
})

func validate(want Line) error {
	err := errors.Join(check.Pattern("match", want.Match), check.Pattern("after", want.After), check.Pattern("before", want.Before))
	if err != nil {
		return err
	}
	if want.Match != nil && *want.Match == "" {
		return states.InvalidAttribute("match", "it matches every line",
			"the lines that match are removed: write an expression of those that are meant")
	}
	if want.After != nil && want.Before != nil {
		return states.InvalidAttribute("before", "it cannot be given beside after", "")
	}
	return errors.Join(check.Path("path", want.Path), check.Line("line", &want.Line, ""))
}

// differences shows the lines that the wanted one stands for.
func differences(have, want Line) []states.Change {
	if len(have.former) == 0 {
		return nil
	}
	from := make([]any, len(have.former))
	for i, line := range have.former {
		from[i] = line
	}
	if len(from) == 1 {
		return []states.Change{{Attribute: "line", From: from[0], To: want.Line}}
	}
	return []states.Change{{Attribute: "line", From: from, To: want.Line}}
}

func read(_ context.Context, h host.Host, want Line) (*Line, error) {
	t, err := lines.Load(h, want.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, at := stands(t, want)
	if at < 0 {
		return nil, nil
	}
	have := Line{Path: want.Path, Line: want.Line, Match: want.Match}
	for _, i := range rows {
		// Without match, repeats of the line are nobody's business.
		if t[i].Line != want.Line || want.Match != nil && i != at {
			have.former = append(have.former, t[i].Line)
		}
	}
	return &have, nil
}

func write(ctx context.Context, h host.Host, have *Line, want Line) error {
	t, err := lines.LoadToWrite(h, want.Path, want.Create)
	if err != nil {
		return err
	}
	if have == nil {
		t = t.Insert(t.Position(want.After, want.Before), want.Line)
	} else {
		rows, at := stands(t, want)
		t[at].Line = want.Line
		t = t.Without(rows, at)
	}
	return t.Save(ctx, h, want.Path, host.Meta{})
}

// remove takes away the lines that Read found.
func remove(ctx context.Context, h host.Host, have Line) error {
	t, err := lines.Load(h, have.Path)
	if err != nil {
		return err
	}
	rows, _ := stands(t, have)
	return t.Without(rows, -1).Save(ctx, h, have.Path, host.Meta{})
}

// claims says what a part takes for granted of a file that others may write as a whole.
func claims(values map[string]any, absent bool) []states.Claim {
	if absent {
		return nil
	}
	file, _ := values["path"].(string)
	text, _ := values["line"].(string)
	return claim.Piece(file, text, "that a line")
}
