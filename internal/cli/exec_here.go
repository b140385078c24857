package cli

import (
	"context"
	"errors"
	"os"

	"github.com/tenetcm/tenet/lang"
)

// mayExecHere refuses to run a command on this machine, unless --root names a tree of it, from a
// folder whose site declares hosts: they may be meant. A site that cannot be read may declare some.
func (s *client) mayExecHere(ctx context.Context) error {
	if s.selectsHosts() || s.globals.Root != "" || !lang.IsSite(os.DirFS(".")) {
		return nil
	}
	const elsewhere = "; from another folder, the command runs on this machine"
	declares, err := s.declaresHosts(ctx)
	switch st, isStatus := errors.AsType[*status](err); {
	case isStatus && st.code == exitInterrupted:
		return err
	case err != nil:
		return usage("name hosts with -l HOSTS; tenet validate tells what is wrong"+elsewhere,
			"the site in this folder has mistakes: it cannot be seen whether the command is meant for hosts")
	case declares:
		return usage("name hosts with -l HOSTS, or all with -l '*'"+elsewhere, "the site in this folder declares hosts: say on which the command is to run")
	}
	return nil
}

// declaresHosts reports whether the site in the current folder declares hosts. No secret is opened
// for that, and no program asked for hosts.
func (s *client) declaresHosts(ctx context.Context) (bool, error) {
	s.secretsHidden, s.inventoryHidden = true, true
	c, err := s.load(ctx, ".")
	if err != nil {
		return false, err
	}
	defer s.limitEvaluation()()
	hosts, groups, list := c.Hosts(ctx, c.Target)
	if ctx.Err() != nil {
		return false, &status{code: exitInterrupted, err: errInterrupted}
	}
	return len(hosts)+len(groups) > 0 || c.HasInventories(), list.Err()
}
