package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/api"
)

// serverPage is the server itself.
type serverPage struct {
	Status   api.ServerStatus
	Releases []api.Release
	Update   *updateStatus // nil: none was begun yet
	Trust    api.Trusted
	HasTrust bool
}

// updateStatus is an update of agents.
type updateStatus struct {
	api.AgentUpdate
	Tally tally
	Rows  []*api.UpdateHost // the gravest ones
}

func (p *Pages) registerServer() {
	p.show("/server", p.server)
	p.act("/server/resume", p.resumeServer)
	p.act("/server/updates/new", p.startUpdate)
	p.act("/server/updates/{number}/{act}", p.steerUpdate)
	p.act("/server/releases/{version}/remove", p.removeRelease)
	p.registerTrust()
}

func (p *Pages) server(v *view) (*page, error) {
	s := &serverPage{}
	var err error
	if s.Status, err = get[api.ServerStatus](v, "/v1/server", nil); err != nil {
		return nil, err
	}
	releases, err := get[api.List[api.Release]](v, "/v1/releases", nil)
	if err != nil && !isLacking(err) {
		return nil, err
	}
	s.Releases = releases.Items
	u, err := get[api.AgentUpdate](v, route("v1", "updates", strconv.FormatInt(number(v.r.URL.Query().Get("update")), 10)), nil)
	switch {
	case err == nil:
		s.Update = statusOfUpdate(u)
	case !isMissing(err) && !isLacking(err):
		return nil, err
	}
	s.Trust, err = get[api.Trusted](v, "/v1/trust", nil)
	if s.HasTrust = err == nil; err != nil && !isLacking(err) {
		return nil, err
	}
	return &page{Template: "server", Title: "Server", Section: "server", Data: s, Live: []string{"host.changed"}}, nil
}

func statusOfUpdate(u api.AgentUpdate) *updateStatus {
	s := &updateStatus{AgentUpdate: u, Tally: tally{Total: len(u.Members)}}
	numbers := map[string]int{}
	for _, h := range u.Members {
		numbers[h.State]++
	}
	for _, state := range hostStates() {
		s.Tally.Counts = append(s.Tally.Counts, share{Word: state, Class: stateClass(state), Count: numbers[state]})
	}
	s.Rows = slices.Clone(u.Members)
	slices.SortStableFunc(s.Rows, func(a, b *api.UpdateHost) int { return gravityOfState(a.State) - gravityOfState(b.State) })
	s.Rows = s.Rows[:min(maxShown, len(s.Rows))]
	return s
}

// Before is the number of the update before.
func (s *updateStatus) Before() int64 { return s.Number - 1 }

// FreePercent is how much of the room is free.
func (s *serverPage) FreePercent() int { return int(*s.Status.Limits.Free * 100) }

// IsFull tells whether there is so little room that nothing is taken in.
func (s *serverPage) IsFull() bool { return s.Status.Limits.IsFull() }

// LeastPercent is below how much nothing is taken in.
func (s *serverPage) LeastPercent() int { return int(s.Status.Limits.Least * 100) }

// Programs says for what machines a release has programs.
func (s *serverPage) Programs(list []api.ReleaseProgram) string {
	var words []string
	for _, p := range list {
		words = append(words, p.Name+" "+p.OS+"/"+p.Arch)
	}
	return listNames(words, maxNames)
}

// Verbs are those of a key, as words.
func (s *serverPage) Verbs(list []trust.Verb) string {
	var words []string
	for _, verb := range list {
		words = append(words, string(verb))
	}
	return strings.Join(words, ", ")
}

func (p *Pages) resumeServer(v *view) (*act, error) {
	status, err := get[api.ServerStatus](v, "/v1/server", nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, h := range status.Unknown {
		names = append(names, h.Name)
	}
	a := &act{Title: "Have the server deliver again", Button: "Resume", IsGrave: true, Back: "/server", Fields: []field{reason()}, Command: []string{"tenet", "server", "resume"},
		Effects: []string{"From then on hosts get again what is wanted of them, by numbers that come after all that they have shown."}}
	if len(names) > 0 {
		a.Effects = append(a.Effects, sentenceOf(names, "have something later that the server does not know: that stays until something is deployed there"))
	} else {
		a.Effects = append(a.Effects, "No host has shown anything that the server does not know. One that is away may still.")
	}
	a.Do = func(form url.Values) (string, error) {
		return "The server delivers again.", v.send(http.MethodPost, "/v1/server/resume", map[string]any{"reason": form.Get("reason")}, nil)
	}
	return a, nil
}

func (p *Pages) startUpdate(v *view) (*act, error) {
	releases, err := get[api.List[api.Release]](v, "/v1/releases", nil)
	if err != nil {
		return nil, err
	}
	versions := field{Name: "version", Label: "Release", Kind: "choice", Value: cmp.Or(v.r.PostForm.Get("version"), v.r.URL.Query().Get("version"))}
	for _, r := range releases.Items {
		versions.Options = append(versions.Options, option{r.Version, r.Version})
	}
	if len(versions.Options) == 0 {
		return nil, &api.Problem{Status: http.StatusNotFound, Title: "No release", Detail: "The server has no release to which agents could be brought.", Hint: "Give it one: tenet release upload."}
	}
	const batch = "1,10%,100%"
	a := &act{Title: "Bring agents to a release", Button: "Begin", Back: "/server", Command: []string{"tenet", "update", cmp.Or(versions.Value, versions.Options[0].Value), "--batch", batch},
		Effects: []string{"Hosts change their program in batches, from where their loops wait, and go back by themselves if the new one does not work there.", "It stops as soon as more hosts fail than may. What is wanted of hosts does not change."},
		Fields: []field{versions,
			{Name: "hosts", Label: "Hosts", Kind: "text", Hint: "A selector such as web*; none: all."},
			{Name: "batch", Label: "How many at once", Kind: "text", Value: batch, Hint: "The last one goes on."},
			{Name: "max_failures", Label: "So many may fail", Kind: "text", Hint: "Such as 2 or 5%; none: no host may."},
			{Name: "pause", Label: "Minutes between batches", Kind: "text", Value: "0"},
			{Name: "deadline", Label: "Minutes that a host may take", Kind: "text", Value: "60"},
			{Name: "message", Label: "Reason", Kind: "text", Hint: "Why, for the audit and for who reads it later."}}}
	a.Do = func(form url.Values) (string, error) {
		deadline, err := parseNumber("deadline", form.Get("deadline"), 7*24*60)
		if err != nil {
			return "", err
		}
		body := map[string]any{"version": form.Get("version"), "hosts": strings.TrimSpace(form.Get("hosts")), "batch": strings.FieldsFunc(form.Get("batch"), func(r rune) bool { return r == ',' || r == ' ' }),
			"max_failures": strings.TrimSpace(form.Get("max_failures")), "deadline": deadline * 60, "message": form.Get("message")}
		if text := strings.TrimSpace(form.Get("pause")); text != "" && text != "0" {
			pause, err := parseNumber("pause", text, 7*24*60)
			if err != nil {
				return "", err
			}
			body["pause"] = pause * 60
		}
		return "Agents are brought to " + form.Get("version") + ".", v.send(http.MethodPost, "/v1/updates", body, nil)
	}
	return a, nil
}

func (p *Pages) steerUpdate(v *view) (*act, error) {
	n, name := v.r.PathValue("number"), v.r.PathValue("act")
	if name != "abort" && name != "continue" {
		return nil, &api.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "There is no such page.", Hint: "Follow one of the links at the side."}
	}
	u, err := get[api.AgentUpdate](v, route("v1", "updates", n), nil)
	if err != nil {
		return nil, err
	}
	in := func(states ...string) (names []string) {
		for _, h := range u.Members {
			if slices.Contains(states, h.State) {
				names = append(names, h.Name)
			}
		}
		return names
	}
	a := &act{Title: fmt.Sprintf("Continue the update to %s", u.Version), Button: "Continue", Back: "/server", Fields: []field{reason()}, Command: []string{"tenet", "update", "--continue"},
		Effects: []string{sentenceOf(in("out"), "are out: it goes on without, until they return"), sentenceOf(in("pending"), "begin batch by batch")}}
	notice := "The update goes on."
	if name == "abort" {
		a.Title, a.Button, a.IsGrave, a.Command, notice = fmt.Sprintf("End the update to %s", u.Version), "End it", true, []string{"tenet", "update", "--abort"}, "The update has ended."
		a.Effects = []string{sentenceOf(in("pending", "out", "begun"), "have not switched yet: the program stays, unless it has just been changed"), sentenceOf(in("ready"), "run the release: that stays")}
	}
	a.Do = func(form url.Values) (string, error) {
		return notice, v.send(http.MethodPost, route("v1", "updates", n, name), map[string]any{"reason": form.Get("reason")}, nil)
	}
	return a, nil
}

func (p *Pages) removeRelease(v *view) (*act, error) {
	version := v.r.PathValue("version")
	return &act{Title: "Remove the release " + version, Button: "Remove", IsGrave: true, Back: "/server", Fields: []field{reason()}, Command: []string{"tenet", "release", "remove", version},
		Effects: []string{"The server forgets its programs. Hosts that run them go on; none is brought to it any more."},
		Do: func(form url.Values) (string, error) {
			return "The release " + version + " is removed.", v.send(http.MethodPost, route("v1", "releases", version, "remove"), map[string]any{"reason": form.Get("reason")}, nil)
		}}, nil
}
