package mount

import (
	"context"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/fstab"
	"github.com/tenetcm/tenet/runtime/host"
)

// foresee writes into a Shadow what the table will be, and what the kernel will say is
// mounted. What is in the file system nobody knows.
func foresee(ctx context.Context, h host.Host, have, want *Mount) error {
	if want == nil {
		want = &Mount{Path: have.Path, Mounted: new(false), Boot: new(false)}
		if !host.Running(h) {
			want.Mounted = nil
		}
	} else if want.Source == nil {
		return errNoSource
	}
	f, err := look(h, want.Path)
	if err != nil {
		return err
	}
	do := steps(h, f, *want)
	if err := possible(ctx, h, f, *want, do); err != nil {
		return err
	}
	if do == mountIt {
		if err := makeDirectory(h, f.real); err != nil {
			return err
		}
	}
	if do != leave {
		if err := rewrite(ctx, h, f, *want, do); err != nil {
			return err
		}
	}
	if do == mountIt || do == replace || do == unmountIt {
		if err := host.Obscure(h, f.real); err != nil {
			return err
		}
	}
	return edit(ctx, h, *want)
}

// rewrite makes the list of what is mounted what it will be.
func rewrite(ctx context.Context, h host.Host, f observation, want Mount, do step) error {
	list := slices.Clone(f.all)
	i := -1
	for k, m := range list {
		if m.Path == f.real {
			i = k
		}
	}
	switch do {
	case mountIt:
		list = append(list, predict(h, f, want))
	case unmountIt:
		list = slices.Delete(list, i, i+1)
	default:
		list[i] = predict(h, f, want)
	}
	var b strings.Builder
	for _, m := range list {
		b.WriteString(m.String() + "\n")
	}
	return h.WriteFile(ctx, fstab.MountInfo, host.Text(b.String()), host.Meta{})
}

// predict is what the kernel will say of the mount, as far as that is compared.
func predict(h host.Host, f observation, want Mount) fstab.Mounted {
	m := fstab.Mounted{Device: "0:0", Root: "/", Path: f.real, Type: fstype(want), Source: *want.Source, Options: []string{"rw"}}
	if bind(want.Options) {
		if holder, within, ok := fstab.Holding(f.all, fstab.RealPath(h, *want.Source)); ok {
			m.Device, m.Root, m.Type, m.Source = holder.Device, within, holder.Type, holder.Source
		}
	}
	on, _ := wantedFlags(want.Options)
	m.Flags = []string{"rw"}
	if on["ro"] {
		m.Flags[0] = "ro"
	}
	for _, flag := range []string{"nosuid", "nodev", "noexec", "sync"} {
		if on[flag] {
			m.Flags = append(m.Flags, flag)
		}
	}
	atime := "relatime"
	for _, o := range want.Options {
		if slices.Contains(accessTimes(), o) {
			atime = o
		}
	}
	if atime != "strictatime" {
		m.Flags = append(m.Flags, atime)
	}
	for _, key := range []string{"size", "nr_inodes"} {
		if v, given := value(want.Options, key); given {
			m.Options = append(m.Options, key+"="+v)
		}
	}
	return m
}
