package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/source"
)

// writeFollowed writes what is followed on the machine, and how that stands.
func (now shownStatus) writeFollowed(line func(name, format string, args ...any)) {
	for i := range now.Followed {
		f := &now.Followed[i]
		line("follows", "%s", f.Address)
		line("", "%s", followedRevision(f))
		for _, c := range f.Report.Components {
			if len(f.Report.Components) > 1 || c.Name != "" {
				line("", "%s", componentText(&c))
			}
		}
		if r := f.Rejected; r != nil {
			line("", "%.12s is not taken: %s", r.Revision.ID, r.Message)
		}
		if n := len(f.Skipped); n > 0 {
			line("", "%.12s was skipped %s%s", f.Skipped[n-1].Revision.ID, when(f.Skipped[n-1].At), more(n-1))
		}
		if !f.Away.IsZero() {
			line("", "it cannot be asked since %s: %s", when(f.Away), f.AwayText)
		}
		line("", "%s", followedLooks(f))
		if f.Late {
			line("", "nobody has looked since: tenet watch does not run")
		}
	}
}

// followedAt gives what is followed whose site a run was of; nil: it was of something else.
func (now shownStatus) followedAt(run *machine.Failure) *source.Followed {
	if run == nil || run.Status == nil {
		return nil
	}
	for i := range now.Followed {
		f := &now.Followed[i]
		if strings.HasSuffix(run.Origin, filepath.Join("/", source.FolderIn("", followedName(f.Address)), followedSite)) {
			return f
		}
	}
	return nil
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d before it", n)
}

// followedRevision tells of the revision that counts.
func followedRevision(f *source.Followed) string {
	r := &f.Report
	text := "no revision"
	if !r.Revision.IsZero() {
		text = fmt.Sprintf("revision %.12s", r.Revision.ID)
		if r.Revision.Name != "" {
			text += " (" + r.Revision.Name + ")"
		}
		if f.Signer != "" {
			text += ", signed by " + f.Signer
		}
	}
	text += ": " + string(r.Phase)
	if !r.Since.IsZero() {
		text += " since " + when(r.Since)
	}
	return text + whyText(r.Reason, r.Source, r.Message, r.Code)
}

// componentText tells of a component.
func componentText(c *source.Component) string {
	name := "component " + c.Name
	if c.Name == "" {
		name = "in no component"
	}
	return name + ": " + string(c.Phase) + whyText(c.Reason, c.Source, c.Message, c.Code)
}

// followedLooks tells when the source was looked at, and when it will be.
func followedLooks(f *source.Followed) string {
	var words []string
	if !f.Looked.IsZero() {
		words = append(words, "looked at "+when(f.Looked))
	}
	if f.Closed != "" {
		words = append(words, "not now: "+f.Closed)
	}
	if !f.Next.IsZero() && !f.Late {
		words = append(words, "next "+when(f.Next))
	}
	return strings.Join(words, ", ")
}

// whyText says why something stands as it does, in the words that follow that.
func whyText(reason, address, message, code string) (out string) {
	for _, text := range []string{reason, address, message} {
		if text != "" {
			out += ": " + text
		}
	}
	if code != "" {
		out += " (" + code + ")"
	}
	return out
}
