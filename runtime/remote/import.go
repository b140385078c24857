package remote

import (
	"context"

	"github.com/tenetcm/tenet/runtime/importer"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Import tells what is set up there.
func (m *Machine) Import(ctx context.Context, r machine.ImportRequest, o machine.Observer) (*machine.Import, error) {
	m.budget = budget{}
	x := &exchange{request: &wire.Request{Op: wire.OpImport, Import: &r}, observer: o}
	if _, err := m.ask(ctx, x); err != nil {
		return nil, err
	}
	found, err := decode[machine.Import](m, x)
	if err != nil {
		return nil, err
	}
	lookup := func(name string) *states.Module { return nil }
	if m.Registry != nil {
		lookup = m.Registry.Lookup
	}
	if err := importer.Check(r, &found, lookup); err != nil {
		return nil, m.answerError("cannot be: "+err.Error(), err)
	}
	return &found, nil
}
