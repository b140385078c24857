package runner

import (
	"context"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// endsMembership is what helps against a membership.
const endsMembership = `take it out of that cluster, or give that ensure = "absent", and apply its site; tenet forget cluster.NAME -l HOST writes it off`

var _ machine.Member = (*Runner)(nil)

// Member makes the machine a member of a cluster, or ends that.
func (r *Runner) Member(_ context.Context, q machine.MemberRequest) (_ *journal.Membership, err error) {
	defer wrapError(&err)
	return r.member(q, r.Caller)
}

func (r *Runner) member(q machine.MemberRequest, caller machine.Caller) (*journal.Membership, error) {
	if q.Site == "" || !site.IsHostName(q.Name) {
		return nil, &diag.HintError{Code: machine.CodeUsage, Message: "a cluster has a name, and so has its site"}
	}
	if q.Leaves {
		folder, err := r.existingFolder()
		if err != nil || folder == nil {
			return nil, err
		}
		was, err := folder.Membership()
		if err == nil && was != nil && len(was.Members) == 0 { // who knows the others leaves by a run
			err = folder.Leave(q.Site, q.Name)
		}
		return was, err
	}
	folder, err := r.open()
	if err == nil {
		err = r.mayApply(folder)
	}
	if err != nil {
		return nil, err
	}
	m := journal.Membership{Site: q.Site, Membership: q.Membership, By: caller.User}
	if caller.From != "" {
		m.By += " from " + caller.From
	}
	was, err := folder.Join(m)
	if err != nil {
		return nil, refusal(context.Background(), err)
	}
	return was, nil
}
