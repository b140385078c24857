package sandbox_test

import (
	"context"
	"fmt"

	"github.com/tenetcm/tenet/lang/sandbox"
)

// A source that makes too much of little is stopped at its place.
func Example() {
	p, list := sandbox.Compile("site.star", []byte("x = 'a'\ny = x * 1000000000\n"), sandbox.Options{})
	if list.HasErrors() {
		fmt.Println(list.Error())
		return
	}
	ctx := context.Background()
	thread, stop := sandbox.NewThread(ctx, "site.star", sandbox.Limits{})
	defer stop()
	if _, err := p.Run(thread); err != nil {
		fmt.Println(p.Diagnose(sandbox.Cause(ctx, thread, err)).Error())
	}
	// Output: site.star:2:7: the repetition would be larger than 16 MiB (a value of this size is hardly meant; handle less at a time)
}
