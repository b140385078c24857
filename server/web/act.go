package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/ssh"
	"github.com/tenetcm/tenet/server/api"
)

// act is something that a person can do on a page. It has a page of its own, which says what it
// will do, to how many, and how the same is done on the command line; a script shows it as a dialog.
type act struct {
	Title   string   // what is done: "Pause deployment 7"
	Button  string   // a verb
	Effects []string // what it will do, in whole sentences
	Command []string // what does the same on the command line, without the flags of fields
	Fields  []field
	IsGrave bool   // it takes something away, or stops it
	Back    string // the page to which it leads
	// Do does it, by what was filled in, and says in a sentence what it has come to.
	Do func(form url.Values) (string, error)

	// Once is something that Do has made and that is shown this once; nil: nothing is.
	Once *once

	Problem *api.Problem // why it was not done
}

// once is a secret that nobody can see again, and what is done with it.
type once struct {
	Title, Hint, Secret string
	Command             string // that uses it
	Back                string
}

// field is one of a form.
type field struct {
	Name, Label, Value, Hint string
	Kind                     string // text, area, check, password, choice
	Options                  []option
	IsRequired               bool
	// Flag is the one of the command that says the same; empty: there is none. One of a choice or text is followed by what it says.
	Flag string
	// Flags are those of a choice where each of its values has one of its own.
	Flags map[string]string
	// Suffix is what the command writes behind the value: its unit.
	Suffix string
	// Sample stands in the command for a value that nobody has written yet, where it does not go without.
	Sample string
}

// option is one of those among which is chosen.
type option struct{ Value, Label string }

// reason is the field of all acts that are audited.
func reason() field {
	return field{Name: "reason", Label: "Reason", Kind: "text", Hint: "Why, for the audit and for who reads it later."}
}

// reasonFlag is it where the command takes it as one.
func reasonFlag() field {
	f := reason()
	f.Flag = "--reason"
	return f
}

// CommandBase is the command as it is typed, without the flags of fields.
func (a *act) CommandBase() string { return commandLine(a.Command...) }

// CommandLine is the command as it is typed, by what the fields say. A script has it follow what is chosen.
func (a *act) CommandLine() string {
	words := slices.Clone(a.Command)
	for i := range a.Fields {
		f := &a.Fields[i]
		value := cmp.Or(f.Value, f.Sample)
		switch {
		case f.Flags[value] != "":
			words = append(words, f.Flags[value])
		case f.Flag == "" || value == "":
		case f.Kind == "check":
			words = append(words, f.Flag)
		default:
			words = append(words, f.Flag, value+f.Suffix)
		}
	}
	return commandLine(words...)
}

func commandLine(argv ...string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = ssh.Quote(word)
	}
	return strings.Join(words, " ")
}

// act registers an act: its page by GET, and the act itself by POST.
func (p *Pages) act(pattern string, make func(*view) (*act, error)) {
	wanted := demandOf(pattern)
	handle := func(isDone bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			v := p.newView(w, r)
			if !v.open() {
				return
			}
			a, err := v.prepare(wanted, isDone, make)
			switch {
			case err != nil:
				v.fail(err)
			case isDone:
				v.doAct(a)
			default:
				v.showAct(a)
			}
		}
	}
	p.mux.HandleFunc("GET "+pattern, handle(false))
	p.mux.HandleFunc("POST "+pattern, handle(true))
}

// prepare makes an act, once it is known that the person may see it and, where it is to be done, that its form is of the pages that this login was shown.
func (v *view) prepare(wanted demand, isDone bool, make func(*view) (*act, error)) (*act, error) {
	if isDone {
		if err := v.parse(); err != nil {
			return nil, err
		}
	}
	if !wanted.isMet(v.caller) {
		return nil, wanted.refusal()
	}
	return make(v)
}

func (v *view) showAct(a *act) {
	p := &page{Template: "act", Title: a.Title, Data: a}
	if a.Problem != nil {
		p.Status = a.Problem.Status
	}
	v.render(p)
}

// leadBack leads to the page that shows what an act has come to. A script that has sent the form follows no redirection: it
// would take the notice, which is for who sees the page.
func (v *view) leadBack(target string) {
	if v.isPart() {
		v.expectAnswer(v.w)
		v.w.Header().Set("HX-Redirect", target)
		return
	}
	v.redirect(target)
}

// doAct does it, or shows it again with what was filled in and why it was not done.
func (v *view) doAct(a *act) {
	notice, err := a.Do(v.r.PostForm)
	if err == nil && a.Once != nil {
		a.Once.Back = a.Back
		v.render(&page{Template: "once", Title: a.Once.Title, Data: a.Once})
		return
	}
	if err == nil {
		v.note(notice)
		v.leadBack(a.Back)
		return
	}
	var problem *api.Problem
	if !errors.As(err, &problem) || problem.Status == http.StatusUnauthorized {
		v.fail(err)
		return
	}
	a.Problem = problem
	for i := range a.Fields {
		if f := &a.Fields[i]; f.Kind != "password" {
			f.Value = v.r.PostForm.Get(f.Name)
		}
	}
	v.showAct(a)
}
