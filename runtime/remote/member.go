package remote

import (
	"context"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Member makes the machine a member of a cluster, or ends that.
func (m *Machine) Member(ctx context.Context, r machine.MemberRequest) (*journal.Membership, error) {
	was, err := data[*journal.Membership](ctx, m, &wire.Request{Op: wire.OpMember, Member: &r})
	if err != nil {
		return nil, err
	}
	return *was, nil
}
