package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/server/api"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
)

// registerHostActs registers what can be done with one host.
func (p *Pages) registerHostActs() {
	p.act("/hosts/{name}/approve", p.approveHost)
	p.act("/hosts/{name}/rename", p.renameHost)
	p.act("/hosts/{name}/labels", p.labelHost)
	for _, one := range []struct {
		name, verb, effect, notice string
		isGrave                    bool
	}{
		{"reject", "Reject", "It stays known, so that nobody is asked about it again.", "It is rejected.", true},
		{"lock", "Lock", "It gets nothing new, keeps what it has, and reports.", "It is locked.", true},
		{"unlock", "Unlock", "It gets what is new again. Where a copy of it was noticed, whichever renews first is the host from then on.", "It is unlocked.", false},
		{"revoke", "Revoke", "Its identity is never taken in again, and its name is free. What is on it stays as it is, and nothing keeps it so.", "It is revoked.", true},
		{"forget", "Forget", "What is wanted of it, its reports, runs, facts and outputs go for good. The audit stays, and its identity is never taken in again.", "It is forgotten.", true},
	} {
		p.act("/hosts/{name}/"+one.name, func(v *view) (*act, error) {
			a, err := v.hostAct(one.verb, one.effect, one.isGrave, []string{"tenet", "host", one.name}, func(h *hostPage, form url.Values) (string, error) {
				err := v.send(http.MethodPost, route("v1", "hosts", string(h.Host.ID), one.name), map[string]any{"reason": form.Get("reason")}, nil)
				if err == nil && one.name == "revoke" {
					h.Host.State = "revoked" // its page has another address then: the name is free
				}
				return one.notice, err
			})
			if err == nil && one.name == "forget" {
				a.leadToHosts()
			}
			return a, err
		})
	}
	p.registerHostAsks()
}

// leadToHosts has an act after which the host has no page any more lead to the list.
func (a *act) leadToHosts() {
	do := a.Do
	a.Do = func(form url.Values) (string, error) {
		notice, err := do(form)
		if err == nil {
			a.Back = "/hosts"
		}
		return notice, err
	}
}

// hostAct is an act on the host of the page's address, which takes a reason alone.
func (v *view) hostAct(verb, effect string, isGrave bool, command []string, do func(h *hostPage, form url.Values) (string, error)) (*act, error) {
	h, err := v.hostOf(v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	a := &act{Title: verb + " " + h.Host.Name, Button: verb, IsGrave: isGrave, Effects: []string{effect}, Fields: []field{reason()}, Back: h.Path(), Command: append(command, h.Name())}
	a.Do = func(form url.Values) (string, error) {
		notice, err := do(h, form)
		a.Back = h.Path()
		return notice, err
	}
	return a, nil
}

func (p *Pages) approveHost(v *view) (*act, error) {
	a, err := v.hostAct("Approve", "It is taken in: grants and selectors match it from then on by this name and these labels, and it gets what is wanted of it.", false, []string{"tenet", "host", "approve"}, nil)
	if err != nil {
		return nil, err
	}
	h, err := get[enroll.Host](v, route("v1", "hosts", v.r.PathValue("name")), nil)
	if err != nil {
		return nil, err
	}
	a.Fields = []field{{Name: "name", Label: "Name", Kind: "text", Value: h.Name}, {Name: "labels", Label: "Labels", Kind: "area", Value: labelLines(h.Labels), Hint: "One NAME=VALUE a line."}, reason()}
	if h.Replaces != nil {
		a.Effects = append(a.Effects, "Another host has this name. It is revoked if you say so: compare the keys before.")
		a.Fields = append(a.Fields, field{Name: "replace", Label: "Revoke the host that has the name", Kind: "check"})
	}
	a.Do = func(form url.Values) (string, error) {
		labels, err := parseLabels(form.Get("labels"))
		if err != nil {
			return "", err
		}
		var taken enroll.Host
		err = v.send(http.MethodPost, route("v1", "hosts", string(h.ID), "approve"), map[string]any{"name": form.Get("name"), "labels": labels, "replace": form.Get("replace") != "", "reason": form.Get("reason")}, &taken)
		if err == nil {
			a.Back = route("hosts", taken.Name)
		}
		return "It is taken in.", err
	}
	return a, nil
}

// labelLines writes labels as they are filled in.
func labelLines(labels map[string]string) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		out.WriteString(name + "=" + labels[name] + "\n")
	}
	return out.String()
}

func (p *Pages) renameHost(v *view) (*act, error) {
	a, err := v.hostAct("Rename", "Grants, selectors and sites match it by the new name from then on.", false, []string{"tenet", "host", "rename"}, nil)
	if err != nil {
		return nil, err
	}
	a.Fields, a.Command = []field{{Name: "name", Label: "New name", Kind: "text", IsRequired: true}, reason()}, append(a.Command, "NAME")
	a.Do = func(form url.Values) (string, error) {
		err := v.send(http.MethodPost, route("v1", "hosts", v.r.PathValue("name"), "rename"), map[string]any{"name": form.Get("name"), "reason": form.Get("reason")}, nil)
		if err == nil {
			a.Back = route("hosts", form.Get("name"))
		}
		return "It is called " + form.Get("name") + ".", err
	}
	return a, nil
}

func (p *Pages) labelHost(v *view) (*act, error) {
	h, err := v.hostOf(v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return &act{Title: "Label " + h.Host.Name, Button: "Set labels", Back: h.Path(), Command: []string{"tenet", "host", "label", h.Name(), "LABEL=VALUE"},
		Effects: []string{"These take the place of all labels that it has. Grants and selectors match it by them from then on."},
		Fields:  []field{{Name: "labels", Label: "Labels", Kind: "area", Value: labelLines(h.Host.Labels), Hint: "One NAME=VALUE a line."}, reason()},
		Do: func(form url.Values) (string, error) {
			labels, err := parseLabels(form.Get("labels"))
			if err != nil {
				return "", err
			}
			return "It has these labels.", v.send(http.MethodPut, route("v1", "hosts", string(h.Host.ID), "labels"), map[string]any{"labels": labels, "reason": form.Get("reason")}, nil)
		}}, nil
}

// registerHostAsks registers what a host is asked itself, and what is wanted of it alone.
func (p *Pages) registerHostAsks() {
	p.act("/hosts/{name}/ping", func(v *view) (*act, error) {
		a, err := v.hostAct("Ping", "It is seen whether it answers and can be used. Nothing is changed.", false, []string{"tenet", "ping", "-i", "SITE", "-l"}, func(h *hostPage, form url.Values) (string, error) {
			var pong api.Pong
			err := v.send(http.MethodPost, route("v1", "hosts", string(h.Host.ID), "ping"), nil, &pong)
			return "It answers within " + duration(seconds(pong.Seconds)) + ": tenet " + pong.Program + " on " + pong.OS + "/" + pong.Arch + ", acting as " + pong.User + "; its clock is off by " + duration(seconds(pong.Clock).Abs()) + ".", err
		})
		if err == nil {
			a.Fields = nil
		}
		return a, err
	})
	p.act("/hosts/{name}/hold", func(v *view) (*act, error) {
		a, err := v.hostAct("Hold", "Nothing is applied there until it is released, or the time is over. What is being applied goes on, and plans still work.", true, []string{"tenet", "hold", "REASON", "-i", "SITE", "-l"}, func(h *hostPage, form url.Values) (string, error) {
			hours := int64(0)
			if text := form.Get("hours"); text != "" {
				var err error
				if hours, err = parseNumber("hours", text, 24*365); err != nil {
					return "", err
				}
			}
			return "It is on hold.", v.send(http.MethodPost, route("v1", "hosts", string(h.Host.ID), "hold"), map[string]any{"reason": form.Get("reason"), "seconds": hours * 3600}, nil)
		})
		if err == nil {
			a.Fields = []field{{Name: "reason", Label: "Reason", Kind: "text", IsRequired: true, Hint: "Whoever wants to apply there is told."}, {Name: "hours", Label: "For so many hours", Kind: "text", Hint: "Nothing: until it is released."}}
		}
		return a, err
	})
	p.act("/hosts/{name}/release", func(v *view) (*act, error) {
		return v.hostAct("Release", "What is wanted of it is applied again.", false, []string{"tenet", "unhold", "-i", "SITE", "-l"}, func(h *hostPage, form url.Values) (string, error) {
			return "It is on hold no more.", v.send(http.MethodPost, route("v1", "hosts", string(h.Host.ID), "release"), map[string]any{"reason": form.Get("reason")}, nil)
		})
	})
	p.act("/hosts/{name}/retry", func(v *view) (*act, error) {
		return v.hostAct("Try again", "What it has given up, or waits for to try again, it tries now.", false, []string{"tenet", "retry", "-i", "SITE", "-l"}, func(h *hostPage, form url.Values) (string, error) {
			return "It tries again.", v.send(http.MethodPost, route("v1", "hosts", string(h.Host.ID), "retry"), map[string]any{"reason": form.Get("reason")}, nil)
		})
	})
	p.act("/hosts/{name}/sites/{site}/rollback", p.rollbackHost)
	p.act("/hosts/{name}/sites/{site}/unpin", p.unpinHost)
}

// seconds makes a span of what the API gives.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (p *Pages) rollbackHost(v *view) (*act, error) {
	h, err := v.hostOf(v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	site := v.r.PathValue("site")
	list, err := get[api.List[api.Revision]](v, route("v1", "sites", site, "revisions"), nil)
	if err != nil {
		return nil, err
	}
	to := field{Name: "to", Flag: "--to", Label: "Revision", Kind: "choice", Options: []option{{"", "the one before that which it has"}}}
	for _, r := range list.Items {
		text := strconv.FormatInt(r.Number, 10)
		label := text + " by " + r.By
		if r.Message != "" {
			label += ": " + r.Message
		}
		to.Options = append(to.Options, option{text, label})
	}
	effects := []string{"It becomes what a former revision of " + site + " says, at once.", "It is pinned: deployments leave it out until it is unpinned."}
	preview, err := get[api.List[deploy.RollbackOf]](v, route("v1", "sites", site, "rollback"), url.Values{"hosts": {h.Host.Name}})
	if err != nil && !isNothing(err) && !hasStatus(err, http.StatusConflict, http.StatusGone, http.StatusUnprocessableEntity) { // where it has nothing to go back to, one chooses
		return nil, err
	}
	for _, one := range preview.Items {
		effects[0] = "It goes from revision " + digits(one.From) + " of " + site + " to revision " + digits(one.To) + ", or to the one that you choose, at once."
	}
	return &act{Title: "Roll " + h.Host.Name + " back", Button: "Roll back and pin", IsGrave: true, Back: h.Path(), Command: []string{"tenet", "rollback", site, h.Host.Name},
		Effects: effects,
		Fields:  []field{to, emptyIsMeant(), reasonFlag()},
		Do: func(form url.Values) (string, error) {
			body := map[string]any{"hosts": h.Host.Name, "reason": form.Get("reason")}
			addEmpty(body, form)
			if text := form.Get("to"); text != "" {
				n, err := parseNumber("to", text, 1<<53)
				if err != nil {
					return "", err
				}
				body["to"] = n
			}
			return "It goes back, and is pinned.", v.send(http.MethodPost, route("v1", "sites", site, "rollback"), body, nil)
		}}, nil
}

func (p *Pages) unpinHost(v *view) (*act, error) {
	site := v.r.PathValue("site")
	return v.hostAct("Unpin", "It follows what is deployed of "+site+" again: it joins the deployment that has it.", false, []string{"tenet", "unpin", site}, func(h *hostPage, form url.Values) (string, error) {
		return "It follows what is deployed.", v.send(http.MethodPost, route("v1", "sites", site, "unpin"), map[string]any{"hosts": h.Host.Name, "reason": form.Get("reason")}, nil)
	})
}
