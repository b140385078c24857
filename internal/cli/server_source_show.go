package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	api "github.com/tenetcm/tenet/server/api/client"
)

type sourceShowCmd struct {
	Name string `arg:"" help:"Name of the source."`
}

// Run shows a source.
func (cmd *sourceShowCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	one, err := server.Source(ctx, cmd.Name)
	switch {
	case err != nil:
		return failure(err)
	case s.globals.JSON:
		return s.printJSON(one)
	}
	return s.print(sourceDetail(one))
}

// sourceText tells people of a source.
func sourceText(s *api.Source) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s  %s%s", ui.Line(s.Name), ui.Line(s.Site), s.Phase, sourceWhy(s.SourceText))
	fmt.Fprintf(&out, "\n  %s", ui.Line(s.Address))
	if s.Revision != "" {
		fmt.Fprintf(&out, "\n  revision %.12s", strings.TrimPrefix(s.Revision, "sha256:"))
		if s.Signer != "" {
			fmt.Fprintf(&out, ", signed by %s", ui.Line(s.Signer))
		}
		if s.Deployment > 0 {
			fmt.Fprintf(&out, ", deployment %d", s.Deployment)
		}
	}
	if p := s.Problem; p != nil {
		fmt.Fprintf(&out, "\n  ✗ %.12s is not taken: %s", strings.TrimPrefix(s.Seen, "sha256:"), ui.Line(p.Message))
		if p.Hint != "" {
			fmt.Fprintf(&out, "\n    hint: %s", ui.Line(p.Hint))
		}
	}
	if s.Away != nil {
		fmt.Fprintf(&out, "\n  away since %s: %s", s.Away.Local().Format(time.DateTime), ui.Line(s.AwayText))
	}
	if s.Closed != "" {
		fmt.Fprintf(&out, "\n  not looked at now: %s%s", ui.Line(s.Closed), untilText(s.Next))
	}
	return out.String()
}

func untilText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return ", until " + t.Local().Format(time.DateTime)
}

// sourceWhy says why something stands as it does, in the words that follow that.
func sourceWhy(t api.SourceText) string {
	return ui.Line(whyText(t.Reason, t.Source, t.Message, t.Code))
}

// sourceDetail tells people all of a source.
func sourceDetail(s *api.Source) string {
	var out strings.Builder
	out.WriteString(sourceText(s))
	if s.Since != nil {
		fmt.Fprintf(&out, "\n  %s since %s", s.Phase, s.Since.Local().Format(time.DateTime))
	}
	for _, c := range s.Components {
		if len(s.Components) == 1 && c.Name == "" {
			break // all has been said of it
		}
		name := "component " + ui.Line(c.Name)
		if c.Name == "" {
			name = "in no component"
		}
		fmt.Fprintf(&out, "\n    %s  %s%s", name, c.Phase, sourceWhy(c.SourceText))
	}
	if s.Looked != nil {
		fmt.Fprintf(&out, "\n  looked at %s", s.Looked.Local().Format(time.DateTime))
	}
	if s.Next != nil && s.Closed == "" {
		fmt.Fprintf(&out, "\n  looked at next %s", s.Next.Local().Format(time.DateTime))
	}
	for _, w := range s.Windows {
		text := strings.TrimSpace(strings.Join(w.Days, ",") + " " + w.Hours + " " + w.Timezone)
		fmt.Fprintf(&out, "\n  window %s", ui.Line(text))
	}
	for _, d := range s.Downtimes {
		fmt.Fprintf(&out, "\n  downtime %s to %s", d.From.Local().Format(time.DateTime), d.To.Local().Format(time.DateTime))
		if d.Reason != "" {
			out.WriteString(": " + ui.Line(d.Reason))
		}
	}
	return out.String()
}
