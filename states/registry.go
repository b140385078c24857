package states

import (
	"fmt"
	"maps"
	"slices"
)

// Registry is the set of modules that a site may use.
type Registry struct{ modules map[string]*Module }

// NewRegistry makes a registry. Two modules of one name are a mistake in the
// program, and panic.
func NewRegistry(modules ...*Module) *Registry {
	r := &Registry{modules: make(map[string]*Module, len(modules))}
	for _, m := range modules {
		if r.modules[m.Name] != nil {
			panic(fmt.Sprintf("states: two modules are named %q", m.Name))
		}
		r.modules[m.Name] = m
	}
	return r
}

// With makes a registry of these modules and those of r, which stays as it is.
func (r *Registry) With(modules ...*Module) *Registry {
	return NewRegistry(append(slices.Collect(maps.Values(r.modules)), modules...)...)
}

// Lookup gives the module of a name, or nil.
func (r *Registry) Lookup(name string) *Module { return r.modules[name] }

// Names lists the modules' names, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.modules)) }
