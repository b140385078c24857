package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/server/api"
)

func (p *Pages) registerSources() {
	p.show("/sources", p.sources)
	p.act("/sources/add", p.addSource)
	p.act("/sources/{name}/look", p.lookAtSource)
	p.act("/sources/{name}/remove", p.removeSource)
}

// sourceRow is a source that is followed.
type sourceRow struct{ *api.Source }

func (p *Pages) sources(v *view) (*page, error) {
	list, err := get[api.List[*api.Source]](v, "/v1/sources", nil)
	if err != nil {
		return nil, err
	}
	short := shorten(v, "sources", list.Items, func(s *api.Source) string {
		return strings.Join([]string{s.Name, s.Site, s.Address, s.Hosts, s.Phase, s.Reason, s.Message}, " ")
	})
	rows := shortList[sourceRow]{listPart: short.listPart}
	for _, s := range short.Items {
		rows.Items = append(rows.Items, sourceRow{Source: s})
	}
	return &page{Template: "sources", Title: "Sources", Section: "sources", Data: rows, Live: []string{"source.changed", "deployment.changed"}}, nil
}

// Flaws are what is wrong with a revision that does not count: where a text names several places in files, each is one.
func (s sourceRow) Flaws() (list []string) {
	if s.Problem == nil {
		return nil
	}
	for _, piece := range strings.Split(s.Problem.Message, "; ") {
		if len(list) > 0 && !startsWithPlace(piece) {
			list[len(list)-1] += "; " + piece
			continue
		}
		list = append(list, piece)
	}
	return list
}

// startsWithPlace tells whether a text begins with FILE:LINE:COLUMN.
func startsWithPlace(text string) bool {
	place, _, _ := strings.Cut(text, " ")
	parts := strings.Split(strings.TrimSuffix(place, ":"), ":")
	return len(parts) == 3 && number(parts[1]) > 0 && number(parts[2]) > 0
}

// Opens says in a line when the source is looked at.
func (s sourceRow) Opens() (list []string) {
	for _, w := range s.Windows {
		text := w.Hours
		if len(w.Days) > 0 {
			text = strings.Join(w.Days, ", ") + " " + text
		}
		if w.Timezone != "" {
			text += " " + w.Timezone
		}
		list = append(list, strings.TrimSpace(text))
	}
	return list
}

// Every is how many seconds lie between two looks.
func (s sourceRow) Every() string {
	const standard = 300
	n := s.Poll
	if n == 0 {
		n = standard
	}
	if n%60 == 0 {
		return count(n/60, "minute")
	}
	return count(n, "second")
}

// ComponentRows are the components, unless the source stands as one whole.
func (s sourceRow) ComponentRows() []api.SourceComponent {
	if len(s.Components) == 1 && s.Components[0].Name == "" {
		return nil
	}
	return s.Components
}

func (p *Pages) addSource(v *view) (*act, error) {
	a := &act{Title: "Follow a source", Button: "Follow it", Back: "/sources", Command: []string{"tenet", "server", "source", "add", "NAME", "ADDRESS", "--site", "SITE"},
		Effects: []string{"The server looks at it now and then. Each revision that is right becomes one of the site, and is deployed."},
		Fields: []field{
			{Name: "name", Label: "Name", Kind: "text", IsRequired: true},
			{Name: "address", Label: "Where it is", Kind: "text", IsRequired: true, Hint: "git::URL//DIR?ref=BRANCH, or the absolute path of a folder of the server's machine."},
			{Name: "site", Label: "Name of the site that it is", Kind: "text", IsRequired: true},
			{Name: "hosts", Label: "Hosts", Kind: "text", Hint: "A selector such as web*; none: all of the site."},
			{Name: "consent", Label: "Before each deployment begins", Kind: "choice", Options: []option{{"", "nothing more is needed"}, {"start", "somebody looks at the plan, and has it start"}, {"approve", "another person approves the plan"}}},
			{Name: "minutes", Label: "Minutes between two looks", Kind: "text", Value: "5"},
			{Name: "windows", Label: "When it is looked at", Kind: "area", Hint: "Hours such as 22:00-04:00 or sat,sun 00:00-24:00 Europe/Berlin, one window a line; none: always."},
			{Name: "downtimes", Label: "When it is not looked at, and nothing counts as failed", Kind: "area", Hint: "FROM/TO and a reason, such as 2030-01-31T22:00:00Z/2030-02-01T04:00:00Z maintenance, one a line."},
			{Name: "signers", Label: "Allowed signers", Kind: "area", Hint: "The lines of a file as ssh-keygen takes it. With them, only what one of these has signed is taken."},
			{Name: "hints", Label: "Take hints from a forge (a webhook)", Kind: "check", Hint: "Their secret is shown to you once."},
			reason(),
		}}
	a.Do = func(form url.Values) (string, error) {
		minutes, err := parseNumber("minutes", form.Get("minutes"), 7*24*60)
		if err != nil {
			return "", err
		}
		name := strings.TrimSpace(form.Get("name"))
		var made struct {
			Secret string `json:"secret"`
		}
		body := map[string]any{"site": strings.TrimSpace(form.Get("site")), "address": strings.TrimSpace(form.Get("address")), "signers": form.Get("signers"),
			"hosts": strings.TrimSpace(form.Get("hosts")), "poll": minutes * 60, "hints": form.Get("hints") != "", "reason": form.Get("reason")}
		addConsent(body, form)
		if err := addTimes(body, form); err != nil {
			return "", err
		}
		err = v.send(http.MethodPut, route("v1", "sources", name), body, &made)
		if made.Secret != "" {
			a.Once = &once{Title: "The secret of hints for " + name, Secret: made.Secret, Hint: "The forge signs each hint by it, as X-Hub-Signature-256, and sends it to https://" + v.r.Host + route("v1", "sources", name, "hint") + "."}
		}
		return "The server follows " + name + ".", err
	}
	return a, nil
}

// addTimes adds windows and downtimes, of which each line is one.
func addTimes(body map[string]any, form url.Values) error {
	var windows []api.SourceWindow
	var downtimes []api.SourceDowntime
	for _, line := range filledLines(form.Get("windows")) {
		w, err := source.ParseWindow(line)
		if err != nil {
			return fieldProblem("windows", err.Error())
		}
		days, hours, zone := w.Texts()
		windows = append(windows, api.SourceWindow{Days: days, Hours: hours, Timezone: zone})
	}
	for _, line := range filledLines(form.Get("downtimes")) {
		d, err := source.ParseDowntime(line)
		if err != nil {
			return fieldProblem("downtimes", err.Error())
		}
		downtimes = append(downtimes, api.SourceDowntime(d))
	}
	if len(windows) > 0 {
		body["windows"] = windows
	}
	if len(downtimes) > 0 {
		body["downtimes"] = downtimes
	}
	return nil
}

func (p *Pages) lookAtSource(v *view) (*act, error) {
	name := v.r.PathValue("name")
	return &act{Title: "Look at " + name + " now", Button: "Look", Back: "/sources", Command: []string{"tenet", "server", "source", "look", name},
		Effects: []string{"What is new there and right is deployed to the hosts of its site, as always. Nothing waits for it."},
		Do: func(url.Values) (string, error) {
			return "The server looks at " + name + ".", v.send(http.MethodPost, route("v1", "sources", name, "look"), nil, nil)
		}}, nil
}

func (p *Pages) removeSource(v *view) (*act, error) {
	name := v.r.PathValue("name")
	return &act{Title: "Follow " + name + " no more", Button: "Stop", IsGrave: true, Back: "/sources", Fields: []field{reason()}, Command: []string{"tenet", "server", "source", "remove", name},
		Effects: []string{"What is new there is not deployed any more.", "What was deployed stays as it is on all hosts."},
		Do: func(form url.Values) (string, error) {
			return "The server follows " + name + " no more.", v.remove(route("v1", "sources", name), form.Get("reason"))
		}}, nil
}
