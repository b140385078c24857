package importer

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Answer reads what a request asks for, but for contents. A part that must not be told, or cannot be, is an omission; of one that is
// not there the code is machine.CodeNotFound, and of a key that can be none machine.CodeUsage.
func Answer(ctx context.Context, h host.Host, registry *states.Registry, r machine.ImportRequest) (*machine.Import, error) {
	o := Options{Inline: r.Inline, Files: r.Files}
	if r.Type != "" {
		m, err := lookup(registry, r.Type)
		if err != nil {
			return nil, err
		}
		return one(ctx, h, m, r.Keys, o)
	}
	if len(r.List) == 0 {
		return nil, wrongRequest("nothing is named that is to be read", "")
	}
	var types []*states.Module
	for _, name := range r.List {
		m, err := lookup(registry, name)
		if err == nil && m.List == nil {
			err = wrongRequest(fmt.Sprintf("no machine says which parts of type %s somebody has set up", name), "")
		}
		if err != nil {
			return nil, err
		}
		types = append(types, m)
	}
	for _, name := range r.Paths {
		if err := checkPath(name); err != nil {
			return nil, err
		}
		if _, err := h.Lstat(name); err != nil {
			return nil, err
		}
	}
	return Import(ctx, h, types, r.Paths, o)
}

// one reads one part.
func one(ctx context.Context, h host.Host, m *states.Module, keys map[string]any, o Options) (*machine.Import, error) {
	p, err := Read(ctx, h, m, keys, o)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil {
		return &machine.Import{Areas: []*machine.ImportArea{{Name: m.Name, Parts: []*machine.ImportPart{p}}}}, nil
	}
	what := address(m, keys)
	if left, ok := errors.AsType[*OmissionError](err); ok {
		return &machine.Import{Areas: []*machine.ImportArea{}, Omissions: []machine.Omission{{What: what, Why: left.Why, Secret: left.Secret}}}, nil
	}
	e := &diag.HintError{Err: fmt.Errorf("%s: %w", what, err), Hint: diag.HintOf(err), Code: diag.CodeOf(err)}
	_, wrong := errors.AsType[*states.AttributeError](err)
	switch {
	case errors.Is(err, ErrNotThere):
		e = &diag.HintError{Code: machine.CodeNotFound, Err: fmt.Errorf("%s is not on this machine", what), Hint: "tenet import --all lists what is there"}
	case wrong:
		e.Code = machine.CodeUsage
	}
	return nil, e
}

// address names a part by its key.
func address(m *states.Module, keys map[string]any) string {
	if names := m.Keys(); len(names) > 0 {
		return states.LabelAddress(m.Name, fmt.Sprint(keys[names[0]]))
	}
	return m.Name
}

// lookup finds a module of this machine's program.
func lookup(registry *states.Registry, name string) (*states.Module, error) {
	if m := registry.Lookup(name); m != nil {
		return m, nil
	}
	return nil, wrongRequest(fmt.Sprintf("there is no module %.60q here", name), "the machine may have another version of tenet: tenet ping tells which")
}

// checkPath wants the path of a file as Import takes it.
func checkPath(name string) error {
	if !path.IsAbs(name) || path.Clean(name) != name {
		return wrongRequest(fmt.Sprintf("%.200q is no absolute path in its shortest form", name), "write it from the root: "+path.Join("/", name))
	}
	return nil
}

func wrongRequest(message, hint string) error {
	return &diag.HintError{Code: machine.CodeUsage, Message: message, Hint: hint}
}
