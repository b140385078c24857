package markedblock

import (
	"context"
	"fmt"

	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
)

func write(ctx context.Context, h host.Host, _ *Block, want Block) error {
	t, err := lines.LoadToWrite(h, want.Path, want.Create)
	if err != nil {
		return err
	}
	begin, end, err := want.find(t)
	if err != nil {
		return err
	}
	var inner []string
	for _, row := range lines.Parse(terminate(inlineOf(want.Content))) {
		inner = append(inner, row.Line)
	}
	if begin >= 0 {
		t = t.Without(rowsBetween(begin+1, end), -1).Insert(begin+1, inner...)
	} else {
		inner = append(append([]string{want.mark("begin")}, inner...), want.mark("end"))
		t = t.Insert(t.Position(want.After, want.Before), inner...)
	}
	whole := t.String()
	if len(whole) > host.InlineLimit {
		return fmt.Errorf("%s would have %d bytes, more than the %d that are edited in place", want.Path, len(whole), host.InlineLimit)
	}
	return t.Save(ctx, h, want.Path, host.Meta{})
}

// rowsBetween lists the rows from one to before another.
func rowsBetween(from, to int) []int {
	rows := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		rows = append(rows, i)
	}
	return rows
}

func remove(ctx context.Context, h host.Host, have Block) error {
	t, err := lines.Load(h, have.Path)
	if err != nil {
		return err
	}
	begin, end, err := have.find(t)
	if err != nil || begin < 0 {
		return err
	}
	return t.Without(rowsBetween(begin, end+1), -1).Save(ctx, h, have.Path, host.Meta{})
}
