package get

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/packages"
	"github.com/tenetcm/tenet/packages/lock"
)

// Change is what is different about a package in a lock.
type Change struct {
	Source string        `json:"source"`
	Former *lock.Package `json:"-"` // nil: it is new
	Now    *lock.Package `json:"-"` // nil: it is used no more
	// Interface is what whoever uses it has to know, if both are there: what comes, goes, and is another one.
	Interface []Difference `json:"interface,omitempty"`
}

// Difference is something of a component that comes, goes, or is another one.
type Difference struct {
	Sign string `json:"sign"` // + - ~
	Dir  string `json:"dir"`  // of the component in the package; ".": the package is one
	What string `json:"what"` // input, output or state
	Name string `json:"name"`
	Text string `json:"text,omitempty"` // for people: how it is another one
}

// Changes tells what differs between two locks, by sources. A source of which only the version is another one stands in the place of the former one.
func Changes(former, now *lock.Lock) (out []Change) {
	replaced := map[string]bool{}
	for i := range now.Packages {
		p := &now.Packages[i]
		was := former.Find(p.Source)
		if was == nil {
			for k := range former.Packages {
				if f := &former.Packages[k]; place(f.Source) == place(p.Source) && now.Find(f.Source) == nil && !replaced[f.Source] {
					was = f
				}
			}
		}
		if was != nil {
			replaced[was.Source] = true
		}
		if was == nil || was.Source != p.Source || was.Digest != p.Digest || was.From != p.From || was.Signer != p.Signer || was.Version != p.Version {
			out = append(out, Change{Source: p.Source, Former: was, Now: p})
		}
	}
	for k := range former.Packages {
		if f := &former.Packages[k]; !replaced[f.Source] {
			out = append(out, Change{Source: f.Source, Former: f})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Source, b.Source) })
	return out
}

// place is a source without its version.
func place(source string) string {
	name, err := packages.Name(source)
	if err != nil {
		return source
	}
	dir, last := path.Split(name)
	first, version, _ := strings.Cut(last, "@")
	_, inner, _ := strings.Cut(version, "+")
	return dir + first + "+" + inner
}

// Compare tells what differs between two versions of a package for whoever uses it.
func Compare(ctx context.Context, former, now fs.FS, o lang.Options) (out []Difference) {
	was, is := Components(ctx, former, o), Components(ctx, now, o)
	dirs := map[string]bool{}
	for dir := range was {
		dirs[dir] = true
	}
	for dir := range is {
		dirs[dir] = true
	}
	for dir := range dirs {
		out = append(out, compareNames(dir, "input", inputs(was[dir]), inputs(is[dir]))...)
		out = append(out, compareNames(dir, "output", outputs(was[dir]), outputs(is[dir]))...)
		out = append(out, compareNames(dir, "state", statesOf(was[dir]), statesOf(is[dir]))...)
	}
	slices.SortStableFunc(out, func(a, b Difference) int {
		return strings.Compare(a.Dir+"\x00"+a.What+"\x00"+a.Name, b.Dir+"\x00"+b.What+"\x00"+b.Name)
	})
	return out
}

const maxComponents = 200

// Components describes the components of a package, by their directories; ".": the package is one.
func Components(ctx context.Context, files fs.FS, o lang.Options) map[string]*lang.Description {
	out := map[string]*lang.Description{}
	_ = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error { // what cannot be read is none
		switch {
		case err != nil || !e.IsDir():
			return nil
		case name == packages.Vendor, len(out) >= maxComponents, e.Name() != "." && strings.HasPrefix(e.Name(), "."), e.Name() == "tests", e.Name() == "modules":
			return fs.SkipDir
		}
		dir, err := fs.Sub(files, name)
		if err != nil || !hasSources(dir) {
			return nil
		}
		site, _ := lang.Load(dir, o) // what is wrong with it is told where it is used
		if d, list := site.Describe(ctx); !list.HasErrors() {
			out[name] = &d
		}
		return nil
	})
	return out
}

func hasSources(files fs.FS) bool {
	entries, err := fs.ReadDir(files, ".")
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() && lang.IsSource(e.Name()) })
}

// trait is something of a component that has a name, and what is said of it.
type trait struct{ name, text string }

func inputs(d *lang.Description) (out []trait) {
	if d == nil {
		return nil
	}
	for _, v := range d.Variables {
		text := v.TypeText
		switch {
		case v.Required:
			text += ", required"
		case v.Default != "":
			text += ", default " + v.Default
		}
		if v.Sensitive {
			text += ", sensitive"
		}
		out = append(out, trait{v.Name, strings.TrimPrefix(text, ", ")})
	}
	return out
}

func outputs(d *lang.Description) (out []trait) {
	if d == nil {
		return nil
	}
	for _, o := range d.Outputs {
		out = append(out, trait{o.Name, map[bool]string{true: "sensitive"}[o.Sensitive]})
	}
	return out
}

func statesOf(d *lang.Description) (out []trait) {
	if d == nil {
		return nil
	}
	for _, s := range d.States {
		out = append(out, trait{s.Address, ""})
	}
	return out
}

func compareNames(dir, what string, was, is []trait) (out []Difference) {
	find := func(list []trait, name string) int {
		return slices.IndexFunc(list, func(t trait) bool { return t.name == name })
	}
	for _, t := range was {
		switch i := find(is, t.name); {
		case i < 0:
			out = append(out, Difference{"-", dir, what, t.name, ""})
		case is[i].text != t.text:
			out = append(out, Difference{"~", dir, what, t.name, t.text + " → " + is[i].text})
		}
	}
	for _, t := range is {
		if find(was, t.name) < 0 {
			out = append(out, Difference{"+", dir, what, t.name, t.text})
		}
	}
	return out
}
