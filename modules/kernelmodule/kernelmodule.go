// Package kernelmodule is the module "kernel_module": a module of the kernel, now
// and at boot.
package kernelmodule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// KernelModule is the state of one module of the kernel, wanted or observed. A nil
// attribute is not managed.
type KernelModule struct {
	Name        string  `state:"name,key" doc:"Name of the module, with underscores."`
	Loaded      *bool   `state:"loaded" doc:"Whether the running kernel has it: yes, if nothing else is said and it is not blacklisted. What is built into the kernel always is loaded."`
	Boot        *bool   `state:"boot" doc:"Whether it is loaded at each boot, by a line in /etc/modules-load.d: yes, if nothing else is said and it is not blacklisted."`
	Options     *string `state:"options" doc:"Its parameters, such as \"debug=1 ports=20,21\", by a line in /etc/modprobe.d; empty for none. They count when it is loaded: one that is loaded already keeps what it has."`
	Blacklisted *bool   `state:"blacklisted" doc:"Whether it is kept from being loaded for a device that it fits, by a line in /etc/modprobe.d. It can still be loaded by its name."`
}

const doc = `A module of the kernel: loaded now, loaded at boot, its options, and whether it is kept from loading by itself.

The running kernel is asked, and modprobe loads and unloads. Below a root, where no kernel is to be seen, only the files are written. In a container the kernel is that of the machine around it, and mostly nobody in it may load a module: then the part fails before anything is changed.

Lines are found in all files of /etc/modules-load.d and /etc/modprobe.d, and in /etc/modules; new ones come into files of the module's name.

Absent unloads the module and removes all these lines. That fails while it is in use, and for what is built into the kernel.`

const example = `kernel_module "br_netfilter" {}

kernel_module "snd_hda_intel" {
  options = "power_save=1"
}

kernel_module "pcspkr" {
  loaded      = false
  boot        = false
  blacklisted = true
}`

// Module is the module "kernel_module".
var Module = states.Define(states.Type[KernelModule]{
	Name: "kernel_module", Doc: doc, Example: example, Locks: []string{"kernel modules"}, Root: true,
	Validate: validate, Complete: complete, Read: read, Write: write, Remove: remove, Foresee: foresee, List: list,
})

func validate(want KernelModule) error {
	e := &states.AttributeError{Attribute: "name"}
	if strings.Contains(want.Name, "-") && !strings.HasPrefix(want.Name, "-") {
		e.Message = fmt.Sprintf("%q is written with underscores", want.Name)
		e.Hint = "write " + canonical(want.Name)
		return e
	}
	if len(want.Name) > 55 { // MODULE_NAME_LEN of the kernel, less the NUL
		e.Message = "it is longer than a name of a module can be"
		return e
	}
	if check.False(want.Loaded) && check.False(want.Boot) && !check.True(want.Blacklisted) && (want.Options == nil || *want.Options == "") {
		return states.InvalidAttribute("loaded", "nothing is left that could be there", `write ensure = "absent"`)
	}
	if want.Options != nil {
		if err := checkOptions(*want.Options); err != nil {
			return err
		}
	}
	return check.Name("name", want.Name, "_")
}

// checkOptions takes NAME or NAME=VALUE, with one space between them.
func checkOptions(options string) error {
	if len(options) > 2000 {
		return states.InvalidAttribute("options", "it is too long", "")
	}
	if options != strings.Join(strings.Fields(options), " ") {
		return states.InvalidAttribute("options", "there is to be one space between options, and none around them", "write "+fmt.Sprintf("%.200q", strings.Join(strings.Fields(options), " ")))
	}
	for o := range strings.FieldsSeq(options) {
		name, value, _ := strings.Cut(o, "=")
		if err := check.Name("options", name, "_-."); err != nil {
			return err
		}
		if i := strings.IndexFunc(value, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("#\\\"'", r) }); i >= 0 {
			return states.InvalidAttribute("options", fmt.Sprintf("the value of %s cannot contain %q", name, value[i:i+1]), "")
		}
	}
	return nil
}

// complete wants the module loaded, now and at boot, unless the part says otherwise: also
// where only one of the two came to be, or somebody has unloaded it.
func complete(_ context.Context, h host.Host, want *KernelModule) error {
	if check.True(want.Blacklisted) {
		return nil
	}
	if want.Loaded == nil {
		want.Loaded = new(true)
	}
	if want.Boot != nil {
		return nil
	}
	where, err := inKernel(h, want.Name)
	if err == nil && where != builtin { // which needs no line
		want.Boot = new(true)
	}
	return err
}

func read(_ context.Context, h host.Host, want KernelModule) (*KernelModule, error) {
	have, there, err := observe(h, want)
	if err != nil || !there {
		return nil, err
	}
	return have, nil
}

// observe tells whether there is anything of the module on the host.
func observe(h host.Reader, want KernelModule) (have *KernelModule, there bool, err error) {
	where, err := inKernel(h, want.Name)
	if err != nil {
		return nil, false, err
	}
	boot, err := atBoot().Own(h, want.Name)
	if err != nil {
		return nil, false, err
	}
	set, err := modprobe().Own(h, "options "+want.Name)
	if err != nil {
		return nil, false, err
	}
	var options []string
	for _, s := range set {
		options = append(options, s.Value)
	}
	black, err := modprobe().Own(h, "blacklist "+want.Name)
	have = &KernelModule{
		Name: want.Name, Loaded: new(where == isLoaded || where == builtin), Boot: new(len(boot) > 0),
		Options: new(strings.Join(options, " ")), Blacklisted: new(len(black) > 0),
	}
	there = *have.Loaded || *have.Boot || *have.Options != "" || *have.Blacklisted
	if where == unknown {
		have.Loaded = want.Loaded
	}
	return have, there, err
}

func write(ctx context.Context, h host.Host, have *KernelModule, want KernelModule) error {
	if have == nil {
		have = &KernelModule{}
	}
	if want.Loaded != nil && check.True(have.Loaded) != *want.Loaded {
		if err := switchTo(ctx, h, want); err != nil {
			return err
		}
	}
	return writeFiles(ctx, h, want)
}

// writeFiles makes the lines what they are to be.
func writeFiles(ctx context.Context, h host.Host, want KernelModule) error {
	have, _, err := observe(h, want)
	if err != nil {
		return err
	}
	own := want.Name + ".conf"
	if want.Boot != nil && *want.Boot != *have.Boot {
		if !*want.Boot {
			err = atBoot().Drop(ctx, h, want.Name)
		} else {
			err = atBoot().Set(ctx, h, atBoot().Dir+"/"+own, want.Name, want.Name)
		}
	}
	if err == nil && want.Options != nil && *want.Options != *have.Options {
		key := "options " + want.Name
		if err = modprobe().Drop(ctx, h, key); err == nil && *want.Options != "" {
			err = modprobe().Set(ctx, h, modprobe().Dir+"/"+own, key, key+" "+*want.Options)
		}
	}
	if err == nil && want.Blacklisted != nil && *want.Blacklisted != *have.Blacklisted {
		key := "blacklist " + want.Name
		if !*want.Blacklisted {
			return modprobe().Drop(ctx, h, key)
		}
		return modprobe().Set(ctx, h, modprobe().Dir+"/"+own, key, key)
	}
	return err
}

// switchTo loads or unloads the module. Its options stand in no file yet.
func switchTo(ctx context.Context, h host.Host, want KernelModule) error {
	argv := []string{"modprobe", "--", want.Name}
	where, err := inKernel(h, want.Name)
	switch {
	case err != nil:
		return err
	case where == unknown:
		return nil
	case *want.Loaded && want.Options != nil:
		argv = append(argv, strings.Fields(*want.Options)...)
	case !*want.Loaded && where == builtin:
		return fmt.Errorf("%s is built into the kernel, and cannot be unloaded", want.Name)
	case !*want.Loaded:
		argv = []string{"modprobe", "--remove", "--", want.Name}
	}
	if err := loads(h); err != nil {
		return err
	}
	_, err = process.Run(ctx, h, host.Command{Argv: argv, Env: []string{"LC_ALL=C.UTF-8"}})
	if err == nil || errors.Is(err, host.ErrUnforeseeable) {
		return err
	}
	if _, inside := h.Lstat("/run/systemd/container"); inside == nil {
		return fmt.Errorf("%w (this host is a container: the kernel is that of the machine around it)", err)
	}
	return err
}

func remove(ctx context.Context, h host.Host, have KernelModule) error {
	if check.True(have.Loaded) {
		if err := switchTo(ctx, h, KernelModule{Name: have.Name, Loaded: new(false)}); err != nil {
			return err
		}
	}
	return writeFiles(ctx, h, KernelModule{Name: have.Name, Boot: new(false), Options: new(""), Blacklisted: new(false)})
}

func list(_ context.Context, h host.Host, _ []string) ([]KernelModule, error) {
	names, err := atBoot().Keys(h)
	if err != nil {
		return nil, err
	}
	keys, err := modprobe().Keys(h)
	for _, key := range keys {
		_, name, _ := strings.Cut(key, " ")
		names = append(names, name)
	}
	slices.Sort(names)
	var found []KernelModule
	for _, name := range slices.Compact(names) {
		if check.Name("name", name, "_") == nil {
			found = append(found, KernelModule{Name: name})
		}
	}
	return found, err
}
