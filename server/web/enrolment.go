package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/enroll"
)

// enrolment is who asks to be taken in, by which tokens, and whose copies were noticed.
type enrolment struct {
	Pending, Locked, Questions []api.ListedHost
	More                       bool // there are more than are shown
	Tokens                     shortList[*enroll.Token]
}

// maxShown is how many hosts a page shows where the list of hosts has the rest.
const maxShown = 50

func (p *Pages) registerEnrolment() {
	p.show("/enrolment", p.enrolment)
	p.act("/enrolment/tokens/new", p.makeToken)
	p.act("/enrolment/tokens/{id}/revoke", p.revokeToken)
	p.act("/enrolment/settle", p.settleHosts)
}

func (p *Pages) enrolment(v *view) (*page, error) {
	e := &enrolment{}
	for _, part := range []struct {
		into  *[]api.ListedHost
		query url.Values
	}{{&e.Pending, url.Values{"state": {"pending"}}}, {&e.Locked, url.Values{"state": {"locked"}}}, {&e.Questions, url.Values{"question": {"true"}}}} {
		part.query.Set("limit", strconv.Itoa(maxShown))
		list, err := get[api.List[api.ListedHost]](v, "/v1/hosts", part.query)
		if err != nil {
			return nil, err
		}
		*part.into, e.More = list.Items, e.More || list.Next != ""
	}
	tokens, err := get[api.List[*enroll.Token]](v, "/v1/tokens", nil)
	if err != nil {
		return nil, err
	}
	now := v.o.Clock()
	valid := slices.DeleteFunc(tokens.Items, func(t *enroll.Token) bool { return t.RevokedAt != nil || t.Used >= t.Uses || !t.ExpiresAt.After(now) })
	e.Tokens = shorten(v, "tokens", valid, func(t *enroll.Token) string {
		return t.ID + " " + t.Note + " " + t.Names.String() + " " + t.MadeBy + " " + labelLines(t.Labels)
	})
	return &page{Template: "enrolment", Title: "Enrolment", Section: "enrolment", Data: e, Live: []string{"host.changed", "token.changed"}}, nil
}

func (p *Pages) makeToken(v *view) (*act, error) {
	a := &act{Title: "Make a token", Button: "Make it", Back: "/enrolment", Command: []string{"tenet", "host", "token", "make"},
		Effects: []string{"With it a host asks to be taken in. It stays pending until somebody approves it, unless the token does."},
		Fields: []field{
			{Name: "note", Label: "What it is for", Kind: "text"},
			{Name: "names", Label: "Names that hosts may ask for", Kind: "text", Hint: "A selector such as web*; none: any."},
			{Name: "labels", Label: "Labels that hosts may claim", Kind: "area", Hint: "One NAME=PATTERN a line, such as role=web*."},
			{Name: "uses", Label: "For how many hosts", Kind: "text", Value: "1"},
			{Name: "hours", Label: "Good for so many hours", Kind: "text", Value: "1"},
			reason(),
		}}
	if v.caller.MayEverywhere("enroll") {
		a.Fields = append(a.Fields, field{Name: "auto", Label: "Approve the host at once", Kind: "check", Hint: "Only for a token that is good for one host."})
	}
	a.Do = func(form url.Values) (string, error) {
		labels, err := parseLabels(form.Get("labels"))
		if err != nil {
			return "", err
		}
		uses, err := parseNumber("uses", form.Get("uses"), 100000)
		if err != nil {
			return "", err
		}
		hours, err := parseNumber("hours", form.Get("hours"), 24*365)
		if err != nil {
			return "", err
		}
		var made api.TokenStart
		err = v.send(http.MethodPost, "/v1/tokens", map[string]any{"note": form.Get("note"), "names": form.Get("names"), "labels": labels, "uses": uses,
			"seconds": hours * 3600, "auto": form.Get("auto") != "", "reason": form.Get("reason")}, &made)
		a.Once = &once{Title: "A token for hosts", Secret: made.Secret, Hint: "On the host it is given to the agent:", Command: "echo " + made.Secret + " | tenet agent join"}
		return "", err
	}
	return a, nil
}

// parseNumber reads a whole number of a form, from 1 to a limit.
func parseNumber(name, text string, limit int64) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 1 || n > limit {
		return 0, invalid(name, "a whole number from 1 to "+commas(limit))
	}
	return n, nil
}

// parseLabels reads NAME=VALUE from each line.
func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for _, line := range filledLines(text) {
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, invalid("labels", "NAME=VALUE in each line")
		}
		labels[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return labels, nil
}

// invalid is what a field of a form should have been.
func invalid(name, wanted string) error {
	return fieldProblem(name, "write "+wanted)
}

// fieldProblem is what is wrong with a field of a form.
func fieldProblem(name, message string) error {
	return &api.Problem{Status: http.StatusUnprocessableEntity, Title: "Not done", Detail: "What was filled in is not right.", Errors: []api.Flaw{{Location: name, Message: message}}}
}

// filledLines are the lines of a field that are not empty.
func filledLines(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

func (p *Pages) revokeToken(v *view) (*act, error) {
	id := v.r.PathValue("id")
	return &act{Title: "Revoke token " + id, Button: "Revoke it", IsGrave: true, Back: "/enrolment", Fields: []field{reason()}, Command: []string{"tenet", "host", "token", "revoke", id},
		Effects: []string{"Nobody joins by it any more. Hosts that have come by it stay."},
		Do: func(form url.Values) (string, error) {
			return "The token is revoked.", v.remove(route("v1", "tokens", id), form.Get("reason"))
		}}, nil
}

// remove has the API remove something, for a reason.
func (v *view) remove(path, reason string) error {
	query := url.Values{}
	if reason != "" {
		query.Set("reason", reason)
	}
	_, err := v.call(http.MethodDelete, path, query, nil)
	return err
}

func (p *Pages) settleHosts(v *view) (*act, error) {
	list, err := get[api.List[api.ListedHost]](v, "/v1/hosts", url.Values{"question": {"true"}, "limit": {"1000"}})
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, &api.Problem{Status: http.StatusNotFound, Title: "Nothing to decide", Detail: "There is no host about which a person is to decide.", Hint: "Somebody may have decided already."}
	}
	ids, names := []string{}, []string{}
	for _, h := range list.Items {
		ids, names = append(ids, string(h.ID)), append(names, h.Name)
	}
	return &act{Title: "Decide on " + count(len(ids), "host"), Button: "Decide", Back: "/enrolment", Command: append([]string{"tenet", "host", "settle"}, names...),
		Effects: []string{"Copies of them were noticed at once, as after a restored snapshot: " + listNames(names, 12) + ".", "Hosts that are the right ones go on, and what each says next counts. The others are locked: they keep what they have, and report."},
		Fields:  []field{{Name: "accept", Label: "They are", Kind: "choice", Options: []option{{"", "not known: lock them"}, {"yes", "the right ones: let them go on"}}}, reason()},
		Do: func(form url.Values) (string, error) {
			err := v.send(http.MethodPost, "/v1/hosts/settle", map[string]any{"hosts": ids, "accept": form.Get("accept") != "", "reason": form.Get("reason")}, nil)
			return "It was decided on " + count(len(ids), "host") + ".", err
		}}, nil
}

// listNames names some things, and says how many more there are.
func listNames(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + commas(len(names)-most) + " more"
}
