package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/api/client"
)

// events reads what is there of the stream after a place, in short.
func events(t *testing.T, c *client.Client, after string, most int) (list []string, last string) {
	t.Helper()
	last = after
	for e, err := range c.Stream(t.Context(), after, false) {
		must(t, err)
		list, last = append(list, fmt.Sprint(e.Kind, " ", e.Name, " ", e.Stream, " ", e.Sequence, e.Reason)), e.ID
		if len(list) == most {
			break
		}
	}
	return list, last
}

// What hosts tell is one stream, from which each reader gets each event once, in order, by however many connections; and nobody what they may not see.
func TestStream(t *testing.T) {
	p := openPlace{newSignedPlace(t, "web1")}
	p.Deployments.Evaluate = p
	c := p.person("watcher", "read@*")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type told struct {
		kind, site string
		err        error
	}
	live := make(chan told, 10000)
	go func() {
		defer close(live)
		for e, err := range c.Stream(ctx, "0", true) {
			live <- told{e.Kind, e.Site, err}
			if err != nil {
				return
			}
		}
	}()
	d := p.deployOpen("", client.DeployRequest{})
	p.awaitPhase(d.ID, "it is deployed", isDone)
	// The end of the run, and that the loop rests, are told by the host itself.
	seen := map[string]int{}
	for limit := time.After(time.Minute); seen["run"] < 2 || seen["event"] < 3 || seen["loop"] < 3; {
		select {
		case one := <-live:
			must(t, one.err)
			if one.site != "shop" {
				t.Errorf("%+v", one)
			}
			seen[one.kind]++
		case <-limit:
			t.Fatalf("%v", seen)
		}
	}
	p.await("the host has told all", func() bool {
		before, _ := events(t, c, "0", -1)
		time.Sleep(300 * time.Millisecond)
		after, _ := events(t, c, "0", -1)
		return len(before) == len(after)
	})
	all, end := events(t, c, "0", -1)
	var single []string
	at := "0"
	for {
		one, next := events(t, c, at, 1)
		if len(one) == 0 {
			break
		}
		single, at = append(single, one...), next
	}
	if !slices.Equal(single, all) || at != end {
		t.Errorf("by one connection each: %q, by one: %q", single, all)
	}
	if sorted := slices.Sorted(slices.Values(all)); len(slices.Compact(sorted)) != len(all) {
		t.Errorf("something is told twice: %q", all)
	}
	if again, _ := events(t, c, "999-1", -1); len(again) != len(all)+1 || again[0] != "missing   0restored" {
		t.Errorf("of a server that was restored: %q", again)
	}
	if other, _ := events(t, p.person("stranger", "read@db*"), "0", -1); len(other) > 0 {
		t.Errorf("who may not see it gets %q", other)
	}
	d = p.deployOpen(`file "/etc/more" { content = "more" }`, client.DeployRequest{})
	p.awaitPhase(d.ID, "more is deployed", isDone)
	must(t, p.Sessions.Sweep(t.Context(), time.Now().Add(time.Hour)))
	epoch, _, _ := strings.Cut(end, "-")
	if rest, _ := events(t, c, epoch+"-0", -1); len(rest) < 2 || rest[0] != "missing   0removed" {
		t.Errorf("of what was removed: %q", rest)
	}
}
