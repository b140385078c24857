package evaluate

import (
	"errors"
	"fmt"
	"slices"
)

// Composition is so much of what is wanted of a host that what becomes of it can be told component by component.
type Composition struct {
	Run        string   `json:"run,omitempty" doc:"The revision of the host's StateRun, which its reports name."`
	Components []string `json:"components,omitzero" doc:"Those at top level, by name, with an empty name for what is in none; null: that is not told."`
	Prunes     bool     `json:"prunes,omitempty" doc:"What the host has and is not to have is removed."`
}

// Composition of what came out for a host.
func (r *Result) Composition() Composition {
	return Composition{Run: r.Revision, Components: r.Components, Prunes: r.Prunes}
}

// Limits of a Composition.
const (
	maxRunName       = 200
	maxComponents    = 10_000
	maxComponentName = 200
)

// Check says why it can be that of no run.
func (c Composition) Check() error {
	switch {
	case len(c.Run) > maxRunName:
		return fmt.Errorf("the name of its run has more than %d bytes", maxRunName)
	case len(c.Components) > maxComponents:
		return fmt.Errorf("it has %d components, and %d are allowed", len(c.Components), maxComponents)
	case slices.ContainsFunc(c.Components, func(name string) bool { return len(name) > maxComponentName }):
		return fmt.Errorf("the name of a component has more than %d bytes", maxComponentName)
	case !slices.IsSorted(c.Components) || len(slices.Compact(slices.Clone(c.Components))) < len(c.Components):
		return errors.New("its components are not each named once, in their order")
	}
	return nil
}
