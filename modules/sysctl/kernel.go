package sysctl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/fstab"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
)

// kernel gives the running kernel's value; nil: it does not matter. A parameter
// that the kernel does not have is an error.
func kernel(ctx context.Context, h host.Host, want Sysctl) (*string, error) {
	if want.Now != nil && !*want.Now {
		return nil, nil
	}
	if _, err := h.Lstat("/proc/sys/kernel/osrelease"); errors.Is(err, fs.ErrNotExist) && want.Now == nil {
		return nil, nil
	}
	value, err := tunable(h, pathOf(want.Key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missingError(ctx, h, want.Key)
	}
	return &value, err
}

// laterError gives the reason why only an apply will know a parameter, and what is set with it: no
// other one.
func laterError(key, reason string) error {
	return &states.EffectsError{
		Effects: states.Effects{Settings: []string{states.Literal(key)}, Paths: []string{"/etc/sysctl.conf", "/etc/sysctl.d"}},
		Err:     &states.UncertainError{Reason: reason},
	}
}

// missingError says that the kernel does not have a parameter: not yet, perhaps.
func missingError(ctx context.Context, h host.Host, key string) error {
	if device := deviceOf(key); device != "" {
		devices, err := host.LinksOf(ctx, h)
		if err == nil {
			var all []links.Link
			all, err = devices.List(ctx)
			if slices.ContainsFunc(all, func(l links.Link) bool { return l.Name == device }) {
				return laterError(key, "the kernel has no "+key+" before the device "+device+" is set up")
			}
		}
		if err != nil && !errors.Is(err, host.ErrUnsupported) {
			return err
		}
	}
	if host.Foreseen(h, "/proc/modules") {
		return laterError(key, "the kernel has no "+key+" now; a module that it is to load before may bring it")
	}
	return &diag.HintError{
		Err:  check.NotOnHost("parameter of the kernel", key),
		Hint: "sysctl -a lists those that it has; load a module that brings it by a kernel_module part before; now = false sets it at boot only",
	}
}

// deviceOf names the network device that a parameter is of, such as eth0.1 in
// net.ipv4.conf.eth0/1.forwarding; empty: it is of none.
func deviceOf(key string) string {
	words := strings.Split(key, ".")
	if len(words) != 5 || words[0] != "net" || words[2] != "conf" && words[2] != "neigh" {
		return ""
	}
	return strings.ReplaceAll(words[3], "/", ".")
}

// settable finds what the kernel will refuse, as far as one can tell without trying.
func settable(h host.Host, key, running, value string) error {
	name := pathOf(key)
	info, err := h.Lstat(name)
	if err != nil {
		return err
	}
	if info.Mode&0o200 == 0 {
		return &diag.HintError{Err: fmt.Errorf("%s can only be read: the kernel lets nobody set it", key), Hint: "take this part away"}
	}
	if readOnly(h, name) {
		return &diag.HintError{
			Err:  fmt.Errorf("%s cannot be set here: %s is mounted read-only, as in a container", key, path.Dir(name)),
			Hint: "set it on the machine around the container, or for the next boot alone: now = false",
		}
	}
	if isNumbers(running) && !isText(key) && !maybeNumbers(value) {
		return states.InvalidAttribute("value", fmt.Sprintf("%q is no number, and the kernel has the number %s for %s", value, running, key),
			"write a number; for a switch 1 is on and 0 is off")
	}
	return nil
}

// readOnly reports whether what holds the file is mounted so. Where no mounts are to be
// seen, the act will tell.
func readOnly(h host.Reader, name string) bool {
	mounted, err := fstab.ReadMounted(h)
	if err != nil {
		return false
	}
	in, _, ok := fstab.Holding(mounted, name)
	return ok && slices.Contains(in.Flags, "ro")
}

// isNumbers reports whether all words of a value are decimal numbers, and there are some.
func isNumbers(value string) bool {
	words := strings.Fields(value)
	for _, w := range words {
		if _, err := strconv.ParseInt(strings.TrimPrefix(w, "-"), 10, 64); err != nil {
			return false
		}
	}
	return len(words) > 0
}

// maybeNumbers reports whether a value may be numbers in one of the forms that the
// kernel reads: decimal, hexadecimal, ranges, lists and masks.
func maybeNumbers(value string) bool {
	return strings.Trim(value, " \t0123456789abcdefABCDEFxX,-+") == ""
}

// isText reports whether a parameter is a text that may look like a number.
func isText(key string) bool {
	switch key {
	case "kernel.hostname", "kernel.domainname", "kernel.core_pattern", "kernel.modprobe", "kernel.hotplug", "kernel.poweroff_cmd":
		return true
	}
	return false
}
