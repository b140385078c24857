// Package limits is the module "limits": how much of a resource a user may have.
package limits

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/settings"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Limit is one limit, wanted or observed.
type Limit struct {
	Domain string  `state:"domain,key" doc:"Whom it is for: a user's name, @GROUP, %GROUP (all of the group together, for maxlogins), * for everybody but root, or numbers of users such as 1000:1999."`
	Type   string  `state:"type,key" enum:"soft,hard,-" doc:"What sets in: soft, which a user may raise up to hard; or - for both."`
	Item   string  `state:"item,key" enum:"core,data,fsize,memlock,nofile,rss,stack,cpu,nproc,as,maxlogins,maxsyslogins,nonewprivs,priority,locks,sigpending,msgqueue,nice,rtprio,chroot" doc:"The resource, as limits.conf(5) names it."`
	Value  *string `state:"value,present" doc:"How much: a number in the resource's own unit, or unlimited."`
	File   *string `state:"file,path" doc:"The file that holds it: /etc/security/limits.conf, or one in /etc/security/limits.d whose name ends in .conf. Without it, the value is changed where it is set already."`
}

const doc = `A limit of what the sessions of a user may take, such as open files.

It is for sessions that begin later, through PAM: by login, SSH, cron, su and sudo. Services of systemd have limits of their own in their units.

The line in the file is set, or added at its end; other lines and comments stay as they are. A file that is read later and sets another value for the same is an error that names it.

Absent removes the line from all these files, and a file of limits.d with its last line.`

const example = `limits "deploy" {
  type  = "-"
  item  = "nofile"
  value = "65536"
}

limits "@build" {
  type  = "hard"
  item  = "nproc"
  value = "4000"
}`

// Module is the module "limits".
var Module = states.Define(states.Type[Limit]{
	Name: "limits", Doc: doc, Example: example, Locks: []string{"limits"}, Root: true,
	New:      Limit{File: new("/etc/security/limits.d/70-tenet.conf")},
	Validate: validate, Read: read, Write: write, Remove: remove, List: list,
})

// files are read when a session begins; see limits.conf(5).
func files() settings.Kind {
	return settings.Kind{
		Dir: "/etc/security/limits.d", First: "/etc/security/limits.conf",
		Brand: []string{"/usr/lib/security/limits.d"}, Parse: parse,
	}
}

// parse reads a line of four words; the first three are the key.
func parse(line string) (key, value string) {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	if len(words) != 4 {
		return "", ""
	}
	return strings.Join(words[:3], " "), words[3]
}

func (l Limit) key() string { return l.Domain + " " + l.Type + " " + l.Item }

func validate(want Limit) error {
	if err := checkDomain(want.Domain); err != nil {
		return err
	}
	if want.Value != nil {
		if err := checkValue(want.Item, *want.Value); err != nil {
			return err
		}
	}
	if want.File != nil && !files().InDir(*want.File, func(name string) bool { return check.Name("file", name, "._-") == nil }) {
		return states.InvalidAttribute(
			"file", fmt.Sprintf("%q is no file of limits that is read", *want.File),
			"write /etc/security/limits.conf, or /etc/security/limits.d/NAME.conf",
		)
	}
	return nil
}

func checkDomain(domain string) error {
	name := strings.TrimLeft(domain, "@%")
	if domain == "*" || domain == "%" || domain == "%*" {
		return nil
	}
	if len(domain)-len(name) > 1 {
		return states.InvalidAttribute("domain", fmt.Sprintf("%q is no domain of limits.conf", domain), "")
	}
	if from, to, numbers := strings.Cut(name, ":"); numbers {
		for _, n := range []string{from, to} {
			if _, err := strconv.ParseUint(n, 10, 32); n != "" && err != nil || from+to == "" {
				return states.InvalidAttribute("domain", fmt.Sprintf("%q is no range of numbers", domain), "write 1000:1999, 1000: or :1999")
			}
		}
		return nil
	}
	return check.Name("domain", name, "._-$@\\+")
}

// checkValue knows what the items take: numbers, of which nice and priority may be
// negative, a path for chroot, and words for no limit.
func checkValue(item, value string) error {
	switch {
	case item == "chroot":
		if err := check.Path("value", value); err != nil {
			return err
		}
		if strings.ContainsAny(value, " \t\n\r#") {
			return states.InvalidAttribute("value", "such a path cannot stand in limits.conf", "")
		}
		return nil
	case value == "unlimited" || value == "infinity" || value == "-1" || value == "-":
		return nil
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && (n >= 0 || item == "nice" || item == "priority") && strconv.FormatInt(n, 10) == value {
		return nil
	}
	return states.InvalidAttribute("value", fmt.Sprintf("%q is no limit of %s", value, item), "write a number, or unlimited")
}

func read(_ context.Context, h host.Host, want Limit) (*Limit, error) {
	set, err := files().Own(h, want.key())
	if err != nil || len(set) == 0 {
		return nil, err
	}
	is := settings.Pick(set, want.File)
	return &Limit{Domain: want.Domain, Type: want.Type, Item: want.Item, Value: &is.Value, File: &is.File}, nil
}

func write(ctx context.Context, h host.Host, _ *Limit, want Limit) error {
	s, later, err := files().Overrides(h, want.key(), *want.File)
	if err != nil {
		return err
	}
	if later && s.Value != *want.Value {
		return fmt.Errorf("%s sets %s to %s after %s: take that line away, or give file = %q", s.File, want.key(), s.Value, *want.File, s.File)
	}
	if _, err := h.Lstat("/etc/security"); err != nil {
		return errors.Join(errors.New("limits are read by PAM, which this host does not have"), err)
	}
	return files().Set(ctx, h, *want.File, want.key(), want.key()+" "+*want.Value)
}

func remove(ctx context.Context, h host.Host, have Limit) error {
	return files().Drop(ctx, h, have.key())
}

func list(_ context.Context, h host.Host, _ []string) ([]Limit, error) {
	keys, err := files().Keys(h)
	var found []Limit
	for _, key := range keys {
		words := strings.Fields(key)
		found = append(found, Limit{Domain: words[0], Type: words[1], Item: words[2]})
	}
	return found, err
}
