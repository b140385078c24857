package cli

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/states"
)

type doCmd struct {
	Type   string   `arg:"" help:"Module, such as file."`
	Label  string   `arg:"" help:"Value of the key attribute, such as a path."`
	Values []string `arg:"" optional:"" name:"attr=value" help:"Attributes; ensure=absent removes it. Lists and maps are JSON."`
	Plan   bool     `help:"Only show what it would do."`
	consent
	detailed
}

// Run applies one part.
func (cmd *doCmd) Run(ctx runContext, s *session) error {
	if !cmd.Plan {
		if err := s.mayAsk(cmd.Yes); err != nil {
			return err
		}
	}
	part, err := cmd.part()
	if err != nil {
		return err
	}
	h, err := s.newHost()
	if err != nil {
		return err
	}
	c := &site{host: h}
	address := states.LabelAddress(cmd.Type, cmd.Label)
	part.Address, part.Base = address, address
	module := modules.Standard().Lookup(cmd.Type)
	declaration := states.Declaration{
		Address: address, Base: address, TopLevel: true, Parts: []states.PartDeclaration{part},
		Range: diag.Range{File: "command line"},
	}
	if err := s.plan(c, &states.Declarations{Host: "localhost", List: []states.Declaration{declaration}}); err != nil {
		return err
	}
	if module.Handler { // it is asked for here and now
		for _, list := range [][]states.Invocation{c.run.Handlers} {
			for _, inv := range list {
				inv.Handler, inv.Always = false, true
				c.run.Invocations = append(c.run.Invocations, inv)
			}
		}
		c.run.Handlers = nil
	}
	if cmd.Plan {
		result, err := s.showPlan(ctx, c)
		if err != nil {
			return err
		}
		return exitCode(result, cmd.DetailedExitcode)
	}
	return s.confirmAndApply(ctx, c, cmd.Yes, cmd.DetailedExitcode)
}

// part makes the declaration of the arguments.
func (cmd *doCmd) part() (states.PartDeclaration, error) {
	p := states.PartDeclaration{Type: cmd.Type, Values: map[string]any{}, Range: diag.Range{File: "command line"}}
	module := modules.Standard().Lookup(cmd.Type)
	if module == nil {
		return p, usage("tenet doc lists the modules", "there is no module %q", cmd.Type)
	}
	hint := "tenet doc " + cmd.Type + " describes the attributes"
	for _, pair := range cmd.Values {
		name, text, ok := strings.Cut(pair, "=")
		if !ok {
			return p, usage("write NAME=VALUE", "%q gives no value", pair)
		}
		if name == "ensure" {
			if p.Options.Ensure = states.Ensure(text); text != "present" && text != "absent" {
				return p, usage("", "ensure is present or absent, not %q", text)
			}
			continue
		}
		a := module.Attribute(name)
		if a == nil || a.Out {
			return p, usage(hint, "%s has no attribute %q that can be set", cmd.Type, name)
		}
		value, err := argument(a, text)
		if err != nil {
			return p, usage(hint, "%w", err)
		}
		p.Values[name] = value
	}
	if keys := module.Keys(); len(keys) > 0 && p.Values[keys[0]] == nil {
		p.Values[keys[0]] = cmd.Label
	}
	if p.Options.Ensure == states.Absent && module.NoAbsent != "" {
		return p, usage("", "%s cannot be absent: %s", cmd.Type, module.NoAbsent)
	}
	resource, err := module.Decode(p.Values, nil)
	if err == nil {
		err = module.Check(resource)
	}
	if err != nil {
		return p, usage(hint, "%w", err)
	}
	p.Key, p.Paths = module.Key(p.Values), module.Paths(p.Values)
	for _, a := range module.Attributes {
		if _, given := p.Values[a.Name]; given && a.Sensitive {
			p.Sensitive = append(p.Sensitive, a.Name)
		}
	}
	return p, nil
}

// argument reads an attribute's value as it is written on a command line.
func argument(a *states.Attribute, text string) (any, error) {
	var plain any = text
	switch a.Kind {
	case states.KindSource:
		return nil, &states.AttributeError{Attribute: a.Name, Message: "a source is a file of a site, and there is none here"}
	case states.KindList, states.KindSet, states.KindMap, states.KindAny:
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&plain); err != nil || d.More() {
			if a.Kind == states.KindMap {
				return nil, &states.AttributeError{Attribute: a.Name, Message: "it is no JSON object"}
			}
			plain = text
			if a.Kind != states.KindAny {
				plain = []any{text}
			}
		}
	}
	value, err := a.Normalize(plain)
	var wrong *states.AttributeError
	if err != nil && !errors.As(err, &wrong) {
		err = &states.AttributeError{Attribute: a.Name, Message: err.Error()}
	}
	return value, err
}
