package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
)

// recordedHost is what this controller knows of a host of a site, for hosts() where the host itself
// does not answer or is left out.
type recordedHost struct {
	Facts   map[string]recordedValue `json:"facts,omitempty"`
	Outputs map[string]recordedValue `json:"outputs,omitempty"`
}

// recordedValue is a fact or an output as it was told last.
type recordedValue struct {
	Value     any       `json:"value"` // null where it is sensitive
	Sensitive bool      `json:"sensitive,omitempty"`
	Time      time.Time `json:"time"`
}

// recordedHosts gives what is recorded of hosts, by their names; nothing of a site without a name.
func (s *client) recordedHosts(site string, hosts []lang.Host) (map[string]*recordedHost, error) {
	if site == "" {
		return nil, nil
	}
	factRecords, err := s.factRecords()
	if err != nil {
		return nil, err
	}
	facts, err := factRecords.Read(site)
	if err != nil {
		return nil, failure(err)
	}
	outputRecords, err := s.outputRecords()
	if err != nil {
		return nil, err
	}
	outputs, err := outputRecords.Read(site)
	if err != nil {
		return nil, failure(err)
	}
	found := map[string]*recordedHost{}
	for _, h := range hosts {
		one := recordedHost{Facts: map[string]recordedValue{}, Outputs: map[string]recordedValue{}}
		for name, f := range facts[h.Name] {
			one.Facts[name] = recordedValue{Value: f.Value, Time: f.Time}
		}
		for name, o := range outputs[h.Name] {
			one.Outputs[name] = recordedValue{Value: o.Value, Sensitive: o.Sealed != nil, Time: o.Time}
		}
		if len(one.Facts)+len(one.Outputs) > 0 {
			found[h.Name] = &one
		}
	}
	return found, nil
}

// longestValue is of how many characters a value may be that is shown whole without --verbose.
const longestValue = 60

// printRecorded prints what is recorded of hosts, in their order, with its age.
func (s *client) printRecorded(hosts []lang.Host, recorded map[string]*recordedHost) error {
	if len(recorded) == 0 {
		return nil
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprint(out, "\nrecorded of\tfor hosts()\tvalue\tas of\n")
	row := func(host, what string, v recordedValue) {
		text := ui.Line(printable(v.Sensitive, v.Value))
		if short := []rune(text); len(short) > longestValue && !s.globals.Verbose {
			text = string(short[:longestValue]) + "…"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s (%s)\n", host, ui.Line(what), strings.ReplaceAll(text, "\t", " "), when(v.Time), age(v.Time))
	}
	for _, h := range hosts {
		one := recorded[h.Name]
		if one == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(one.Facts)) {
			row(h.Name, "facts."+name, one.Facts[name])
		}
		for _, name := range slices.Sorted(maps.Keys(one.Outputs)) {
			row(h.Name, "outputs."+name, one.Outputs[name])
		}
	}
	return failure(unread(out.Flush()))
}

// recordedLine is what is recorded of a host, for programs.
type recordedLine struct {
	Host     string        `json:"host"`
	Recorded *recordedHost `json:"recorded"`
}

// showRecorded shows what is recorded of hosts of a site that a command is about.
func (s *client) showRecorded(t *targets) error {
	if t.site == nil {
		return nil
	}
	recorded, err := s.recordedHosts(t.site.Name(), t.hosts)
	if err != nil {
		return err
	}
	if !s.globals.JSON {
		return s.printRecorded(t.hosts, recorded)
	}
	for _, h := range t.hosts {
		if one := recorded[h.Name]; one != nil {
			if err := s.printLine(recordedLine{h.Name, one}); err != nil {
				return err
			}
		}
	}
	return nil
}
