package cli

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/packages/get"
	"github.com/tenetcm/tenet/packages/lock"
)

// obtained is what get has done, as JSON.
type obtained struct {
	Packages []obtainedPackage `json:"packages"`
	Changes  []packageChange   `json:"changes"`
}

type obtainedPackage struct {
	Source  string `json:"source"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest"`
	From    string `json:"from"`
	Signer  string `json:"signer,omitempty"`
}

type packageChange struct {
	get.Change
	Former *obtainedPackage `json:"former,omitempty"`
	Now    *obtainedPackage `json:"now,omitempty"`
}

// tellObtained tells which packages there are, and what is different about them.
func (s *client) tellObtained(now *lock.Lock, changes []get.Change) error {
	asJSON := func(p *lock.Package) *obtainedPackage {
		if p == nil {
			return nil
		}
		return &obtainedPackage{p.Source, p.Version, p.Digest, p.From, p.Signer}
	}
	if s.globals.JSON {
		out := obtained{Packages: []obtainedPackage{}, Changes: []packageChange{}}
		for i := range now.Packages {
			out.Packages = append(out.Packages, *asJSON(&now.Packages[i]))
		}
		for _, c := range changes {
			out.Changes = append(out.Changes, packageChange{c, asJSON(c.Former), asJSON(c.Now)})
		}
		return s.printJSON(out)
	}
	if s.globals.Quiet {
		return nil
	}
	var text strings.Builder
	for _, c := range changes {
		text.WriteString(changeText(&c))
	}
	switch {
	case len(now.Packages) == 0:
		text.WriteString("The site uses no packages.")
	case len(changes) == 0:
		fmt.Fprintf(&text, "%s, all as in %s.", people(len(now.Packages), "package", "packages"), lock.Name)
	default:
		fmt.Fprintf(&text, "%s; %s is written.", people(len(now.Packages), "package", "packages"), lock.Name)
	}
	return s.print(text.String())
}

// changeText tells people what is different about a package.
func changeText(c *get.Change) string {
	var out strings.Builder
	label := func(p *lock.Package) string {
		if p.Version != "" {
			return p.Version + " " + p.Digest[:19]
		}
		return p.From[:min(len(p.From), 19)] + " " + p.Digest[:19]
	}
	switch {
	case c.Now == nil:
		fmt.Fprintf(&out, "- %s\n", ui.Line(c.Source))
		return out.String()
	case c.Former == nil:
		fmt.Fprintf(&out, "+ %s  %s", ui.Line(c.Source), ui.Line(label(c.Now)))
	case c.Former.Source != c.Now.Source:
		fmt.Fprintf(&out, "~ %s → %s  %s", ui.Line(c.Former.Source), ui.Line(c.Source), ui.Line(label(c.Now)))
	default:
		fmt.Fprintf(&out, "~ %s  %s → %s", ui.Line(c.Source), ui.Line(label(c.Former)), ui.Line(label(c.Now)))
	}
	if c.Now.Signer != "" {
		fmt.Fprintf(&out, "  signed by %s", ui.Line(c.Now.Signer))
	}
	out.WriteString("\n")
	for _, d := range c.Interface {
		fmt.Fprintf(&out, "    %s %s %s", d.Sign, d.What, ui.Line(d.Name))
		if d.Dir != "." {
			fmt.Fprintf(&out, " of %s", ui.Line(d.Dir))
		}
		if d.Text != "" {
			fmt.Fprintf(&out, "  %s", ui.Line(d.Text))
		}
		out.WriteString("\n")
	}
	return out.String()
}
