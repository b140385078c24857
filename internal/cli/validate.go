package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
)

type validateCmd struct {
	siteArg
	Strict bool `help:"Fail if there are warnings, too."`
}

// validation is what validate found, as JSON.
type validation struct {
	Hosts       int  `json:"hosts,omitempty"` // that the site declares, and were looked at
	Invocations int  `json:"invocations"`
	Parts       int  `json:"parts"`
	Valid       bool `json:"valid"`
}

// Run checks a site, for each host that it declares.
func (cmd *validateCmd) Run(ctx runContext, s *client) error {
	found, err := s.validate(ctx, cmd.Site, cmd.Strict)
	switch {
	case err != nil:
		return err
	case s.globals.JSON:
		return s.printJSON(found)
	case s.globals.Quiet:
		return nil
	}
	text := fmt.Sprintf("The site is right: %s in %s", people(found.Parts, "part", "parts"), people(found.Invocations, "invocation", "invocations"))
	if found.Hosts > 0 {
		text += ", for " + people(found.Hosts, "host", "hosts")
	}
	return s.print(text + ".")
}

// validate checks a site, and shows what is wrong with it; if strict, warnings are errors.
func (s *client) validate(ctx context.Context, path string, strict bool) (found validation, err error) {
	s.secretsHidden = true
	s.inventoryHidden = s.globals.Limit == "" // hosts that are named must be known
	c, err := s.load(ctx, path)
	if err != nil {
		return found, err
	}
	c.Target.Review = true
	hosts, err := s.selectHosts(ctx, c)
	if err != nil {
		return found, err
	}
	if err := s.diagnose(c, c.CheckNames(hosts)); err != nil {
		return found, err
	}
	found = validation{Valid: true, Hosts: len(hosts)}
	if len(hosts) == 0 {
		hosts = []lang.Host{{Name: c.Target.Host}} // this machine
	}
	var exchange fleet.Exchange
	var all diag.List // what is wrong with any host, each once
	for _, h := range hosts {
		compiled, diags, err := s.compileHost(ctx, c, h.Name, c.Target.Facts)
		all = append(all, diags...).Sorted()
		switch {
		case ctx.Err() != nil:
			return found, &status{code: exitInterrupted, err: errInterrupted}
		case err != nil:
			return found, errors.Join(s.diagnose(c, all), err)
		case diags.HasErrors():
			continue
		}
		exchange.Survey(h.Name, compiled.Run)
		found.Invocations += len(compiled.Run.Invocations)
		for _, inv := range compiled.Run.Invocations {
			found.Parts += len(inv.Parts)
		}
	}
	if !all.HasErrors() && ctx.Err() == nil && found.Hosts > 0 {
		all = append(all, s.validateHooks(ctx, c, hosts)...).Sorted()
	}
	if !all.HasErrors() && ctx.Err() == nil {
		all = append(all, c.Review(ctx, c.Target)...).Sorted()
	}
	if err := s.diagnose(c, all); err != nil {
		return found, err
	}
	if err := s.checkExchange(ctx, c, &exchange, hosts); err != nil {
		return found, err
	}
	if strict {
		return found, s.refuseWarnings()
	}
	return found, nil
}

// refuseWarnings is an error if diagnostics were shown.
func (s *client) refuseWarnings() error {
	if n := s.diagnosticCount; n > 0 {
		return newStatus(exitSite, fmt.Errorf("%s, and --strict takes none", people(n, "warning", "warnings")), "mend what they name, or leave --strict out")
	}
	return nil
}

// validateHooks gives what is wrong with the states that hooks run, whose params only hooks give.
func (s *client) validateHooks(ctx context.Context, c *site, hosts []lang.Host) (all diag.List) {
	rollout, list := c.Rollout(ctx, c.Target, hosts)
	if rollout == nil || !rollout.HasHooks() || list.HasErrors() {
		return nil // what is wrong with the rollout itself was told
	}
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	for host, hooks := range hooksByHost(rollout, names) {
		for _, h := range hooks {
			_, err := s.compileHook(ctx, c, fleet.HookRun{State: h.State, Params: h.Params, Batch: h.Batch}, host, c.Target.Facts)
			if wrong, ok := errors.AsType[diag.List](err); ok {
				all = append(all, wrong...)
			}
		}
	}
	return all
}
