package follow_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/follow"
	"github.com/tenetcm/tenet/states"
)

// texts are components as NAME phase: reason message (code) source.
func texts(list []source.Component) (out []string) {
	for _, c := range list {
		text := c.Name + " " + string(c.Phase)
		for _, more := range []string{c.Reason, c.Message, c.Code, c.Source} {
			if more != "" {
				text += "; " + more
			}
		}
		out = append(out, text)
	}
	return out
}

// part is one of a report: ADDRESS STATE [REASON], of which error has a failure with the reason as its message.
func part(text string) states.PartReport {
	words := strings.SplitN(text, " ", 3)
	p := states.PartReport{Address: words[0], State: words[1], Target: states.Present}
	if len(words) > 2 {
		p.Reason = words[2]
	}
	if p.State == states.PartError {
		p.Error = &states.Failure{Code: "exec_failed", Message: p.Reason}
	}
	return p
}

func report(parts ...string) *states.Report {
	r := &states.Report{}
	for _, text := range parts {
		r.Parts = append(r.Parts, part(text))
	}
	return r
}

func TestStanding(t *testing.T) {
	web := []string{"db", "web"}
	away := deploy.Reason{Code: deploy.CodeAway, Text: "not connected"}
	gaveUp := deploy.Reason{Code: deploy.CodeGaveUp, Text: "it has given up"}
	for _, c := range []struct {
		name   string
		o      deploy.Outcome
		former []string
		want   []string
	}{
		{"nobody knows yet", deploy.Outcome{Phase: deploy.Planned, Why: deploy.Reason{Text: "somebody has to start it"}, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Pending}}},
			[]string{"old"}, []string{" pending; h1: somebody has to start it"}},
		{"no hosts", deploy.Outcome{Phase: deploy.Done}, nil, []string{" pending; no host has it yet"}},
		{"the gravest counts", deploy.Outcome{Phase: deploy.Rolling, Hosts: []deploy.HostOutcome{
			{Name: "h1", State: rollout.Ready, Components: web}, {Name: "h2", State: rollout.Begun, Components: []string{"web"}}, {Name: "h3", State: rollout.Out, Why: away, Components: []string{"db"}}, {Name: "h4", State: rollout.Out, Why: away, Components: []string{"db"}}}},
			nil, []string{"db pending; h3: not connected (likewise on 1 more)", "web installing"}},
		{"others stand the same way", deploy.Outcome{Phase: deploy.Rolling, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Out, Why: away, Components: []string{"db"}, Others: 40_000}, {Name: "h2", State: rollout.Out, Why: away, Components: []string{"db"}, Others: 9}}},
			nil, []string{"db pending; h1: not connected (likewise on 40010 more)"}},
		{"a host of which nothing is known may have all", deploy.Outcome{Phase: deploy.Done, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Ready, Components: web}, {Name: "h2", State: rollout.Out, Why: away}}},
			nil, []string{"db pending; h2: not connected", "web pending; h2: not connected"}},
		{"one has failed", deploy.Outcome{Phase: deploy.Failed, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Failed, Why: gaveUp, Components: []string{"", "db", "web"}, Report: report(
			"component.db.file.x present", "component.db.package.y pending only_if", "component.web.exec.start error exit status 1", "file.z pending blocked by component.web.exec.start")}}},
			nil, []string{" pending; h1: something else has failed first", "db installed", "web failed; h1: exit status 1; exec_failed; component.web.exec.start"}},
		{"no part has", deploy.Outcome{Phase: deploy.Failed, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Failed, Why: gaveUp, Components: web}}},
			nil, []string{"db failed; h1: it has given up; gave_up", "web failed; h1: it has given up; gave_up"}},
		{"it is at it", deploy.Outcome{Phase: deploy.Rolling, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Begun, Components: web, Report: report("component.db.file.x present", "component.web.file.y creating")}}},
			nil, []string{"db installed", "web installing"}},
		{"it is tried again", deploy.Outcome{Phase: deploy.Rolling, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Begun, Components: []string{"web"}, Report: report("component.web.file.y error no space")}}},
			nil, []string{"web failed; h1: no space; exec_failed; component.web.file.y"}},
		{"somebody has aborted it", deploy.Outcome{Phase: deploy.Aborted, Why: deploy.Reason{Text: "by ann"}, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Ready, Components: []string{"db"}}, {Name: "h2", State: rollout.Out, Why: deploy.Reason{Text: "it keeps what it has"}, Components: []string{"web"}}}},
			nil, []string{"db installed", "web failed; h2: the deployment is aborted: by ann; aborted"}},
		{"it goes", deploy.Outcome{Phase: deploy.Rolling, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Ready, Components: []string{"web"}, Prunes: true}, {Name: "h2", State: rollout.Begun, Components: []string{"web"}, Prunes: true}}},
			web, []string{"web installing", "db removing"}},
		{"it is gone", deploy.Outcome{Phase: deploy.Done, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Ready, Components: []string{"web"}, Prunes: true}}}, web, []string{"web installed", "db removed"}},
		{"it does not go", deploy.Outcome{Phase: deploy.Failed, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Failed, Why: gaveUp, Components: []string{"web"}, Prunes: true, Report: report("component.web.file.y present")}}},
			web, []string{"web installed", "db failed; h1: it has given up; gave_up"}},
		{"nothing is removed there", deploy.Outcome{Phase: deploy.Done, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Ready, Components: []string{"web"}}}}, web, []string{"web installed"}},
		{"nothing is wanted", deploy.Outcome{Phase: deploy.Done, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Ready, Absent: true}}}, nil, []string{" installed"}},
		{"hostile texts", deploy.Outcome{Phase: deploy.Failed, Hosts: []deploy.HostOutcome{{Name: "h1", State: rollout.Failed, Components: []string{"web"}, Report: report("component.web.file.y error \x1b[2J" + strings.Repeat("x", 1<<20))}}}, nil, nil},
	} {
		got := texts(follow.Standing(&c.o, c.former...))
		if c.want == nil {
			if text := strings.Join(got, ""); len(text) > 10_000 || strings.Contains(text, "\x1b") {
				t.Errorf("%s: %d bytes: %.100q", c.name, len(text), text)
			}
			continue
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}
