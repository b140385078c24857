// Package markedblock is the module "marked_block": some lines of a text file,
// between two lines that mark them.
package markedblock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Block is a block of a file, wanted or observed. A nil attribute is not
// managed.
type Block struct {
	Name       string        `state:"name,key" doc:"Tells the block from others in the file."`
	Path       string        `state:"path,key,path" doc:"Absolute path of the file."`
	Content    *host.Content `state:"content,present" doc:"The lines between the marks. A newline at the end may be left out."`
	Comment    *string       `state:"comment,in" doc:"How a comment begins in this file; \"#\" if not given."`
	CommentEnd *string       `state:"comment_end,in" doc:"How a comment ends, such as \"-->\"; if not given, with its line."`
	After      *string       `state:"after,in" doc:"Regular expression (RE2): a new block is put after the last line that matches, or at the end where none does."`
	Before     *string       `state:"before,in" doc:"Regular expression (RE2): a new block is put before the first line that matches, or at the end where none does."`
	Create     *bool         `state:"create,in" doc:"Creates a missing file, which otherwise is an error."`
}

const doc = `Some lines of a text file, between two comments that mark them.

The marks are the lines # tenet: begin "NAME" and # tenet: end "NAME". What stands between them belongs to tenet; all else in the file keeps every byte. A file may hold several blocks of different names. The file keeps its owner, mode and line ends (also CR LF, and a missing last one). An existing block is found whatever comment its marks are, and is not moved to where after and before would put a new one.

A mark without its other half, or one that is there twice, is an error that names the lines: nothing is changed then.

Absent removes the marks and what is between them; a missing file is nothing to do.

The file must be a regular one of at most 1 MiB; a symbolic link is an error.`

const example = `marked_block "test bench" {
  path    = "/etc/hosts"
  content = <<-EOT
    192.0.2.10 bench
    192.0.2.11 camera
  EOT
}

marked_block "footer" {
  path        = "/srv/www/index.html"
  before      = "^</body>"
  comment     = "<!--"
  comment_end = "-->"
  content     = "<p>Imprint</p>"
  create      = true
}`

// Module is the module "marked_block".
var Module = states.Define(states.Type[Block]{
	Name: "marked_block", Doc: doc, Example: example,
	Validate: validate, Claims: claims, Read: read, Write: write, Remove: remove,
})

func validate(want Block) error {
	if err := errors.Join(check.Pattern("after", want.After), check.Pattern("before", want.Before)); err != nil {
		return err
	}
	switch {
	case want.After != nil && want.Before != nil:
		return states.InvalidAttribute("before", "it cannot be given beside after", "")
	case strings.TrimSpace(want.Name) != want.Name:
		return states.InvalidAttribute("name", fmt.Sprintf("%q begins or ends with a space", want.Name), "")
	case want.Comment != nil && (*want.Comment == "" || strings.ContainsAny(*want.Comment, " \t")):
		return states.InvalidAttribute("comment", fmt.Sprintf("%q is not how a comment begins", *want.Comment), `write it without spaces, such as "#" or "//"`)
	}
	if want.Content != nil {
		if err := validateContent(want); err != nil {
			return err
		}
	}
	separator := ""
	if want.CommentEnd != nil {
		separator = *want.CommentEnd
	}
	if separator != "" && strings.Contains(want.Name, separator) {
		return states.InvalidAttribute("name", fmt.Sprintf("it cannot contain %q, which ends a comment", separator), "")
	}
	return errors.Join(
		check.Path("path", want.Path), check.Line("name", &want.Name, ""),
		check.Line("comment", want.Comment, ""), check.Line("comment_end", want.CommentEnd, ""),
	)
}

// validateContent refuses what would be taken for a mark, or could not be read
// again.
func validateContent(want Block) error {
	wrong := &states.AttributeError{Attribute: "content"}
	inline, ok := want.Content.Inline()
	switch {
	case !ok:
		wrong.Message = fmt.Sprintf("it has %d bytes, more than the %d that are edited in place", want.Content.Size(), host.InlineLimit)
		return wrong
	case strings.Contains(inline, "\x00"):
		wrong.Message = "it cannot contain a NUL character"
		return wrong
	}
	for i, row := range lines.Parse(inline) {
		if strings.Contains(row.Line, "\r") {
			wrong.Message = fmt.Sprintf("its line %d holds a carriage return that ends no line", i+1)
			return wrong
		}
		if isMark(row.Line, "begin", "") || isMark(row.Line, "end", "") {
			wrong.Message = fmt.Sprintf("its line %d is a mark of a block", i+1)
			wrong.Hint = "leave the marks out: they are added"
			return wrong
		}
	}
	return nil
}

// mark is the line that begins or ends a block.
func (b Block) mark(what string) string {
	comment, tail := "#", ""
	if b.Comment != nil {
		comment = *b.Comment
	}
	if b.CommentEnd != nil && *b.CommentEnd != "" {
		tail = " " + strings.TrimSpace(*b.CommentEnd)
	}
	return comment + " tenet: " + what + " " + strconv.Quote(b.Name) + tail
}

// isMark reports whether a line is such a mark, in whatever comment; with an empty
// name that of any block.
func isMark(line, what, name string) bool {
	comment, rest, found := strings.Cut(strings.TrimSpace(line), " tenet: "+what+` "`)
	if name != "" {
		found = found && strings.HasPrefix(rest, strconv.Quote(name)[1:])
	}
	return found && comment != "" && !strings.ContainsAny(comment, " \t")
}

// find gives the rows of the two marks; both are -1 where there is no block.
func (b Block) find(t lines.Text) (begin, end int, err error) {
	begin, end = -1, -1
	for i, row := range t {
		at, other := &begin, "begin"
		switch {
		case isMark(row.Line, "begin", b.Name):
		case isMark(row.Line, "end", b.Name):
			at, other = &end, "end"
		default:
			continue
		}
		if *at >= 0 {
			return -1, -1, b.damaged("the lines %d and %d both %s it", *at+1, i+1, other)
		}
		*at = i
	}
	switch {
	case begin >= 0 && end < 0:
		err = b.damaged("line %d begins it, and no line ends it", begin+1)
	case begin < 0 && end >= 0:
		err = b.damaged("line %d ends it, and no line begins it", end+1)
	case end < begin:
		err = b.damaged("line %d ends it before line %d begins it", end+1, begin+1)
	}
	return begin, end, err
}

func (b Block) damaged(format string, args ...any) error {
	return fmt.Errorf("the marks of the block %q in %s are broken: %s; repair the file by hand",
		b.Name, b.Path, fmt.Sprintf(format, args...))
}

func read(_ context.Context, h host.Host, want Block) (*Block, error) {
	t, err := lines.Load(h, want.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	begin, end, err := want.find(t)
	if err != nil || begin < 0 {
		return nil, err
	}
	have := want
	inner := terminate(t[begin+1 : end].String())
	if want.Content == nil || terminate(inlineOf(want.Content)) != inner {
		have.Content = new(host.Text(inner))
	}
	return &have, nil
}

func inlineOf(c *host.Content) string {
	inline, _ := c.Inline()
	return inline
}

// terminate gives lines the form in which they are compared: each ends with "\n".
func terminate(s string) string {
	t := lines.Parse(s)
	for i := range t {
		t[i].End = "\n"
	}
	return t.String()
}

// claims says what a part takes for granted of a file that others may write as a whole.
func claims(values map[string]any, absent bool) []states.Claim {
	if absent {
		return nil
	}
	file, _ := values["path"].(string)
	text, _ := values["content"].(string)
	return claim.Piece(file, text, "that a block of lines")
}
