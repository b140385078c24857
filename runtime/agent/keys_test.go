package agent

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"
)

// An agent takes up what is encrypted to keys that have followed others while it runs. The former ones are needed until something newer has taken the place of all that is encrypted to them.
func TestKeysThatFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mustStart()
		needs := func(keys ...*age.X25519Identity) {
			t.Helper()
			var want []string
			for _, k := range keys {
				want = append(want, k.Recipient().String())
			}
			if got, err := w.agent.Recipients(); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q are needed, want %q, %v", got, want, err)
			}
		}
		first := w.assign("shop", "1")
		w.wait(time.Minute)
		w.expectConverged("shop", "1", first)
		former := w.sealing
		needs(former)
		next, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		w.sealing = next
		w.agent.TakeKeys()
		needs(former)
		second := w.assign("shop", "2")
		w.wait(time.Minute)
		w.expectConverged("shop", "2", second)
		needs(next)
		w.end()
	})
}
