// Package device finds and changes network devices for modules.
package device

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
)

// Forgets is what the documentation of each module says of the next boot.
const Forgets = `This sets the running kernel, and the next boot forgets it. To have it again then, let tenet apply the site at boot, or write files for what sets up the network there (such as /etc/systemd/network/*.netdev, with file), beside this part.`

// maxName is IFNAMSIZ less the NUL byte at its end.
const maxName = 15

// Name checks the name of a network device.
func Name(attribute, name string) error {
	if err := check.Name(attribute, name, "._-+@"); err != nil {
		return err
	}
	e := &states.AttributeError{Attribute: attribute}
	switch {
	case len(name) > maxName:
		e.Message = fmt.Sprintf("the name %q has more than %d characters", name, maxName)
	case name == "." || name == ".." || name == "all" || name == "default":
		e.Message = fmt.Sprintf("%q is no name of a network device", name)
	default:
		return nil
	}
	return e
}

var macPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{2}:){5}[0-9a-f]{2}$`) })

// MAC checks a hardware address that need not be given: of one device, and as Linux
// writes it.
func MAC(attribute string, mac *string) error {
	if mac == nil {
		return nil
	}
	e := &states.AttributeError{Attribute: attribute}
	switch small := strings.ToLower(*mac); {
	case !macPattern().MatchString(small):
		e.Message = fmt.Sprintf("%q is no hardware address such as 02:00:00:00:00:01", *mac)
	case small != *mac:
		e.Message, e.Hint = fmt.Sprintf("%q is not how Linux writes this address", *mac), "write "+small
	case small == "00:00:00:00:00:00" || strings.ContainsRune("13579bdf", rune(small[1])):
		e.Message = fmt.Sprintf("%q is no address of a single device", *mac)
	default:
		return nil
	}
	return e
}

// Find gives a device; nil: there is none of this name.
func Find(ctx context.Context, h host.Host, name string) (*links.Link, error) {
	devices, err := host.LinksOf(ctx, h)
	if err != nil {
		return nil, err
	}
	list, err := devices.List(ctx)
	if err != nil {
		return nil, err
	}
	l, err := links.Find(list, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &l, err
}

// FindKind gives a device of one of these kinds; nil: there is none of this name. It
// is an error if it is of another kind.
func FindKind(ctx context.Context, h host.Host, name string, kinds ...string) (*links.Link, error) {
	l, err := Find(ctx, h, name)
	if err != nil || l == nil {
		return nil, err
	}
	for _, k := range kinds {
		if l.Kind == k {
			return l, nil
		}
	}
	kind := l.Kind
	if kind == "" {
		kind = "real device"
	}
	return nil, fmt.Errorf("the network device %s is there, and is no %s but a %s", name, kinds[0], kind)
}

// Put makes a device as wished: a new one where have is nil.
func Put(ctx context.Context, h host.Host, have *links.Link, want links.Link) error {
	devices, err := host.LinksOf(ctx, h)
	if err != nil {
		return err
	}
	if have == nil {
		return devices.Add(ctx, want)
	}
	return devices.Change(ctx, *have, want)
}

// Delete removes a device.
func Delete(ctx context.Context, h host.Host, name string) error {
	devices, err := host.LinksOf(ctx, h)
	if err != nil {
		return err
	}
	return devices.Delete(ctx, name)
}

// List names the devices for which is says so.
func List(ctx context.Context, h host.Host, is func(links.Link) bool) ([]string, error) {
	devices, err := host.LinksOf(ctx, h)
	if err != nil {
		return nil, err
	}
	list, err := devices.List(ctx)
	var names []string
	for _, l := range list {
		if is(l) {
			names = append(names, l.Name)
		}
	}
	return names, err
}
