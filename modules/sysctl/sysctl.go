// Package sysctl is the module "sysctl": a parameter of the kernel, now and at
// boot.
package sysctl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/settings"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Sysctl is the state of one parameter, wanted or observed.
type Sysctl struct {
	Key   string  `state:"key,key,setting" doc:"Name of the parameter, with dots, such as net.ipv4.ip_forward. A dot within one word of it is written as a slash: net.ipv4.conf.eth0/1.forwarding."`
	Value *string `state:"value,present" doc:"Its value. How much white space stands between several numbers does not count."`
	File  *string `state:"file,path" doc:"The file that sets it at boot: /etc/sysctl.conf, or one in /etc/sysctl.d whose name ends in .conf. Without it, the value is changed where it is set already."`
	Now   *bool   `state:"now,in" doc:"Whether the running kernel gets the value at once. It does by default, where it is to be seen (/proc/sys is there)."`
}

const doc = `A parameter of the kernel has a value, now and after each boot.

The running kernel is asked each time: a value that somebody has changed is changed back. A parameter that it does not have or lets nobody set, and a value that it refuses, are errors, and then nothing is written for the next boot. A plan finds them, but for numbers that are out of range and words that are not among those that a parameter knows. What a kernel_module or a network device of the same run will bring is maybe in a plan. Below a root, where no kernel is to be seen, only the file is written.

The line in the file is set, or added at its end; other lines and comments stay as they are. A file that is read later at boot and sets another value is an error that names it.

Absent removes the parameter from all these files, and a file with its last line. The kernel keeps the value until the next boot, since nobody knows which one it had before.`

const example = `sysctl "net.ipv4.ip_forward" {
  value = "1"
}

sysctl "net.ipv4.ip_local_port_range" {
  value = "20000 50000"
  file  = "/etc/sysctl.d/80-ports.conf"
}`

const defaultFile = "/etc/sysctl.d/70-tenet.conf"

// Module is the module "sysctl".
var Module = states.Define(states.Type[Sysctl]{
	Name: "sysctl", Doc: doc, Example: example, Locks: []string{"sysctl"}, Root: true,
	New:      Sysctl{File: new(defaultFile)},
	Validate: validate, Read: read, Write: write, Remove: remove, List: list,
})

// maxValue is how much the kernel takes at once: a page, less the end of the line.
const maxValue = 4095

func validate(want Sysctl) error {
	if want.Value != nil {
		e := &states.AttributeError{Attribute: "value"}
		switch {
		case strings.TrimSpace(*want.Value) == "":
			e.Message = "a value is required"
			return e
		case len(*want.Value) > maxValue:
			e.Message = fmt.Sprintf("it has %d bytes, and the kernel takes %d", len(*want.Value), maxValue)
			return e
		}
	}
	if want.File != nil {
		if err := checkFile(*want.File); err != nil {
			return err
		}
	}
	return errors.Join(checkKey(want.Key), check.Text("value", want.Value))
}

func checkKey(key string) error {
	e := &states.AttributeError{Attribute: "key"}
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '/' {
		e.Message = fmt.Sprintf("%q has slashes between its words", key)
		e.Hint = "write dots: " + dotName(strings.Split(key, "/"))
		return e
	}
	words := strings.Split(key, ".")
	if len(words) < 2 {
		e.Message = fmt.Sprintf("%q is no name of a parameter", key)
		e.Hint = "write its words with dots between them, such as net.ipv4.ip_forward"
		return e
	}
	for _, w := range words {
		if err := check.Name("key", w, "_:@+-/"); err != nil {
			return err
		}
		if w[0] == '/' || w[len(w)-1] == '/' || strings.Contains(w, "//") {
			e.Message = fmt.Sprintf("in %q a slash stands for a dot within a word, and not at %q", key, w)
			return e
		}
	}
	return nil
}

func checkFile(file string) error {
	if files().InDir(file, func(name string) bool { return check.Name("file", name, "._-") == nil }) {
		return nil
	}
	return states.InvalidAttribute(
		"file", fmt.Sprintf("%q is no file that is read at boot", file),
		"write /etc/sysctl.conf, or /etc/sysctl.d/NAME.conf",
	)
}

func read(ctx context.Context, h host.Host, want Sysctl) (*Sysctl, error) {
	running, err := kernel(ctx, h, want)
	if err != nil {
		return nil, err
	}
	set, err := files().Own(h, want.Key)
	if err != nil || len(set) == 0 {
		return nil, err
	}
	boot := settings.Pick(set, want.File)
	have := &Sysctl{Key: want.Key, File: &boot.File, Value: &boot.Value, Now: want.Now}
	if running != nil && (want.Value == nil || !isSame(*running, *want.Value)) {
		have.Value = running
	}
	if want.Value != nil && isSame(*have.Value, *want.Value) {
		have.Value = want.Value
	}
	return have, nil
}

func write(ctx context.Context, h host.Host, _ *Sysctl, want Sysctl) error {
	running, err := kernel(ctx, h, want)
	if err != nil {
		return err
	}
	if err := overridden(h, want); err != nil {
		return err
	}
	value := strings.TrimSpace(*want.Value)
	if running != nil && !isSame(*running, value) {
		if err := settable(h, want.Key, *running, value); err != nil {
			return err
		}
		if err := host.Tune(h, pathOf(want.Key), value); err != nil {
			return fmt.Errorf("the kernel does not take %q for %s: %w", value, want.Key, err)
		}
	}
	return files().Set(ctx, h, *want.File, want.Key, want.Key+" = "+value)
}

func remove(ctx context.Context, h host.Host, have Sysctl) error {
	return files().Drop(ctx, h, have.Key)
}

func list(_ context.Context, h host.Host, _ []string) ([]Sysctl, error) {
	keys, err := files().Keys(h)
	var found []Sysctl
	for _, key := range keys {
		if checkKey(key) == nil {
			found = append(found, Sysctl{Key: key})
		}
	}
	return found, err
}
