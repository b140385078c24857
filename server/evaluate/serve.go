package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/internal/watchdog"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/packages"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/orchestrate"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// Serve answers one question. It is what the process does; its result is how that ends. Where a limit is reached
// it says so, and ends the process by exit.
func Serve(ctx context.Context, in io.Reader, out io.Writer, exit func(status int)) error {
	var q Question
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return fmt.Errorf("the question cannot be read: %w", err)
	}
	var mu sync.Mutex // one answer
	dog := watchdog.Watch(watchdog.Limits{Time: q.Time, Memory: q.Memory}, func(a watchdog.Alarm) {
		mu.Lock()
		// Whoever does not get it sees the process end without an answer.
		_ = plainjson.NewEncoder(out).Encode(Answer{IsLimit: true, Error: "the evaluation of the site " + a.String()})
		exit(1)
	})
	answer := q.answer(ctx, q.identities)
	answer.leaveOutOthers(&q)
	mu.Lock()
	defer mu.Unlock()
	dog.Stop()
	return plainjson.NewEncoder(out).Encode(answer)
}

// leaveOutOthers leaves out hosts for which nothing was to be evaluated: of a site with many hosts each answer would have all.
func (a *Answer) leaveOutOthers(q *Question) {
	if len(q.Hosts) == 0 {
		return
	}
	isAsked := map[string]bool{}
	for _, to := range q.Hosts {
		isAsked[to.Name] = true
	}
	a.Hosts = slices.DeleteFunc(a.Hosts, func(h lang.Host) bool { return !isAsked[h.Name] })
}

// Here has a question answered in this process, by whatever keys open the site's secrets, for who evaluates in the place of a server. Its limits and Keys do not
// count. An error with CodeSite says that the site is wrong.
func Here(ctx context.Context, q Question, identities func() ([]secrets.Identity, error)) (*Answer, error) {
	a := q.answer(ctx, identities)
	if a.Error != "" {
		return nil, wrongSite(a.Error)
	}
	return a, nil
}

func wrongSite(why string) error {
	return &diag.HintError{Code: CodeSite, Message: "the site is wrong: " + why, Hint: "tenet validate says more"}
}

// answer evaluates the site.
func (q *Question) answer(ctx context.Context, identities func() ([]secrets.Identity, error)) *Answer {
	a := &Answer{}
	root, err := os.OpenRoot(q.Dir)
	if err != nil {
		a.Error = "the site's files cannot be read: " + err.Error()
		return a
	}
	defer root.Close()
	// A server has no packages but those that came with the site.
	loaded, list := lang.Load(states.WithTrees(ctx, root.FS(), nil), lang.Options{Registry: modules.Standard(), OpenPackage: (&packages.Opener{Site: root.FS()}).Open, CheckSigner: packages.CheckSigner(root.FS())})
	e := &evaluation{Question: q, ctx: ctx, site: &orchestrate.Site{Site: loaded, Origin: q.Origin, AllowEmpty: q.AllowEmpty, Target: q.target(root.FS())}}
	if !list.HasErrors() {
		var more diag.List
		a.Hosts, a.Groups, more = loaded.Hosts(ctx, e.site.Target)
		list = append(list, more...)
	}
	if !list.HasErrors() {
		var more diag.List
		a.Rollout, more = loaded.Rollout(ctx, e.site.Target, nil)
		list = append(list, more...)
	}
	if !list.HasErrors() {
		var more diag.List
		a.Clusters, more = loaded.Clusters(ctx, e.site.Target)
		list = append(list, more...)
	}
	if list.HasErrors() {
		a.Error = texts(list)
		return a
	}
	a.Name = loaded.Name()
	for _, d := range list {
		a.Warnings = append(a.Warnings, d.Error())
	}
	store := &secrets.Store{Site: root.FS(), Identities: identities}
	e.site.Target.Secrets, e.site.SecretFiles = store.Value, store.Digests
	declared := map[string]bool{}
	for i := range a.Hosts {
		declared[a.Hosts[i].Name] = true
	}
	for _, to := range q.Hosts {
		a.Results = append(a.Results, e.host(to, declared[to.Name]))
	}
	return a
}

// target is what all hosts have in common. Nothing is asked of anybody, and no program is run.
func (q *Question) target(files fs.FS) lang.Target {
	t := lang.Target{Clusters: q.Joined}
	for name, value := range q.Vars {
		t.Vars = append(t.Vars, lang.Var{Name: name, Value: value})
	}
	slices.SortFunc(t.Vars, func(a, b lang.Var) int { return strings.Compare(a.Name, b.Name) })
	return t
}

// identities gives the keys that open secrets.
func (q *Question) identities() (out []secrets.Identity, err error) {
	for i, text := range q.Keys {
		id, err := secrets.ParseIdentity(secrets.IdentityFile{Name: fmt.Sprintf("key %d of the server", i+1), Data: []byte(text)})
		if err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, nil
}

// evaluation is one of a site.
type evaluation struct {
	*Question
	ctx  context.Context
	site *orchestrate.Site
}

// host evaluates the site for one host.
func (e *evaluation) host(to Recipient, isDeclared bool) Result {
	r := Result{Host: to.Name}
	if !isDeclared {
		r.Absent, r.Empty, r.Identity = true, true, absence(e.site.Name(), to.Name)
		return r
	}
	one, read := *e.site, &reader{facts: e.Facts, outputs: e.Outputs, seen: map[Value]bool{}}
	one.Target.HostFacts, one.Target.LastOutputs = lang.NewHostFacts(read.ask), read.last
	c, list, err := one.Compile(e.ctx, to.Name, func(name string) (any, error) { return read.fact(to.Name, name) })
	var given []states.HostOutput
	if err == nil && !list.HasErrors() {
		given, r.Waits, err = read.given(c.Run)
	}
	r.Read = read.values()
	switch {
	case list.HasErrors():
		r.Error = texts(list)
		return r
	case err != nil:
		r.Error = err.Error()
		return r
	case len(r.Waits) > 0:
		return r
	}
	r.Empty = len(c.Run.Invocations)+len(c.Run.Handlers) == 0
	r.Revision, r.Components, r.Prunes = c.Run.Revision, c.Run.Components(), c.Run.Prune
	job, run := c.Job(), *c.Run
	run.Given, job.Run = given, &run
	if r.Outline, err = packOutline(c.Run); err == nil {
		err = e.seal(&r, bundle.Of(job), to.Sealing)
	}
	if err != nil {
		r = Result{Host: to.Name, Read: r.Read, Error: err.Error()}
	}
	return r
}

// seal encrypts what is wanted of a host to it, and names that.
func (e *evaluation) seal(r *Result, b *bundle.Bundle, to string) error {
	sealed, contents, err := b.Seal(e.site.Registry(), to)
	if err != nil {
		return err
	}
	r.Sealed = sealed
	named := &named{Revision: r.Revision, Program: e.Program, Parallel: b.Parallel, LockTimeout: int64(b.LockTimeout), Given: b.Run.Given}
	for _, c := range contents {
		r.Files = append(r.Files, c.Content)
		named.Files = append(named.Files, namedFile{c.Name, c.Content})
		if err := e.keep(c); err != nil {
			return err
		}
	}
	r.Identity = named.digest()
	return nil
}

// keep puts a content into the folder that takes them.
func (e *evaluation) keep(c bundle.Content) (err error) {
	if e.Out == "" {
		return nil
	}
	out, err := os.OpenFile(filepath.Join(e.Out, c.SHA256.String()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // for another host
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	in, err := c.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(out, in)
	return err
}

// named is what two assignments have in common that bring about the same.
type named struct {
	Revision    string // of the StateRun, masked, with the digests of encrypted files
	Files       []namedFile
	Parallel    int
	LockTimeout int64
	Program     string
	Given       []states.HostOutput `json:",omitempty"` // by other hosts: the StateRun is the same whatever it is
}

type namedFile struct {
	Name string
	trust.Content
}

func (n *named) digest() trust.Digest {
	data, err := json.Marshal(n)
	if err != nil {
		panic("evaluate: texts and numbers are JSON: " + err.Error())
	}
	return trust.DigestOf(data)
}

// absence names that nothing is wanted.
func absence(site, host string) trust.Digest {
	return trust.DigestOf([]byte("absent\x00" + site + "\x00" + host))
}

// texts is a list as one text.
func texts(list diag.List) string {
	var out []string
	for _, d := range list.Sorted() {
		if d.Severity == diag.Error {
			bare := d
			bare.Hint = "" // it follows, so that it can be told from the rest
			text := bare.Error()
			if d.Hint != "" {
				text += " (hint: " + d.Hint + ")"
			}
			out = append(out, text)
		}
	}
	const most = 5
	if len(out) > most {
		out = append(out[:most:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return strings.Join(out, "; ")
}
