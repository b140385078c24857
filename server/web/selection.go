package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/server/api"
)

// maxSelected is with how many hosts something is done at once: a selector has so many terms.
const maxSelected = 100

// selectionAct is something that is done with each of some hosts.
type selectionAct struct {
	Name, Verb, Effect string
	IsGrave            bool
}

// registerSelection registers what can be done with hosts that were selected in the list.
func (p *Pages) registerSelection() {
	for _, one := range []selectionAct{
		{"approve", "Approve", "They are taken in under the names and with the labels for which they ask. One that would replace another host is left out: look at it by itself.", false},
		{"reject", "Reject", "They stay known, so that nobody is asked about them again.", true},
		{"lock", "Lock", "They get nothing new, keep what they have, and report.", true},
		{"unlock", "Unlock", "They get what is new again.", false},
	} {
		p.act("/selected/"+one.Name, func(v *view) (*act, error) { return v.selection(one) })
	}
}

// selectedHosts are those that the address of the page names.
func (v *view) selectedHosts() ([]string, error) {
	names := strings.FieldsFunc(v.r.URL.Query().Get("select"), func(r rune) bool { return r == ',' })
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) == 0:
		return nil, &api.Problem{Status: http.StatusUnprocessableEntity, Title: "No host is selected", Detail: "Nothing says with which hosts it is to be done.", Hint: "Select hosts in the list."}
	case len(names) > maxSelected:
		return nil, &api.Problem{Status: http.StatusUnprocessableEntity, Title: "Too many hosts", Detail: "More than " + count(maxSelected, "host") + " are selected.", Hint: "Do it for some of them at a time, or on the command line."}
	}
	return names, nil
}

func (v *view) selection(one selectionAct) (*act, error) {
	names, err := v.selectedHosts()
	if err != nil {
		return nil, err
	}
	a := &act{Title: one.Verb + " " + count(len(names), "host"), Button: one.Verb, IsGrave: one.IsGrave, Back: "/hosts", Effects: []string{listNames(names, 20) + ".", one.Effect}, Fields: []field{reason()}}
	if len(names) == 1 {
		a.Command = []string{"tenet", "host", one.Name, names[0]}
	}
	a.Do = func(form url.Values) (string, error) {
		return v.each(names, one.Verb, func(name string) error {
			return v.send(http.MethodPost, route("v1", "hosts", name, one.Name), map[string]any{"reason": form.Get("reason")}, nil)
		})
	}
	return a, nil
}

// each does something with hosts one after the other. Where it comes to nothing for some, the problem names them and why.
func (v *view) each(names []string, verb string, do func(name string) error) (string, error) {
	var flaws []api.Flaw
	for _, name := range names {
		err := do(name)
		if err == nil {
			continue
		}
		problem := problemOf(err)
		if problem == nil || problem.Status == http.StatusUnauthorized {
			return "", err
		}
		flaws = append(flaws, api.Flaw{Location: name, Message: problem.Detail})
	}
	if len(flaws) > 0 {
		return "", &api.Problem{Status: http.StatusConflict, Title: "Not done for all", Detail: verb + ": done for " + commas(len(names)-len(flaws)) + " of " + count(len(names), "host") + ".", Hint: "The others stay as they were.", Errors: flaws}
	}
	return verb + ": done for " + count(len(names), "host") + ".", nil
}
