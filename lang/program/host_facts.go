package program

import (
	"cmp"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// hostFact gives a fact of a host that an expression names. One that nobody has asked for yet is unknown, and
// is asked for when all is known that the site wants; a script has to know it at once.
func (e *expressions) hostFact(want expr.HostAttribute) (cty.Value, error) {
	switch {
	case want.Name == "":
		return cty.DynamicVal, &diag.HintError{Message: "facts of a host are named one by one: each that is named is asked for", Hint: "write hosts(PATTERN)[0].facts.NAME"}
	case !e.hostFacts.CanAsk():
		return cty.DynamicVal, &diag.HintError{Message: "facts of hosts are not known here", Hint: "give them in the case: hosts = { NAME = { facts = { … } } }"}
	case e.entryOf(want.Host) == nil:
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("the site does not declare the host %q", want.Host), Hint: "tenet inspect hosts lists them"}
	}
	fact := expr.HostFact{Host: want.Host, Name: want.Name, IsNow: want.IsNow}
	known, ok := e.hostFacts.Get(fact)
	if !ok && e.scripts != nil {
		e.hostFacts.AskNow(e.ctx, e.askedTogether(fact, want.Pattern))
		known, ok = e.hostFacts.Get(fact)
	}
	if !ok {
		return cty.DynamicVal, e.ctx.Err()
	}
	v := cty.DynamicVal
	if known.Err == nil {
		v, known.Err = expr.Value(known.Value)
	}
	if known.Err != nil {
		return cty.DynamicVal, &diag.HintError{Message: fmt.Sprintf("the fact %s of %s: %v", want.Name, want.Host, known.Err),
			Hint: cmp.Or(diag.HintOf(known.Err), fmt.Sprintf("tenet facts -l %s shows its facts", want.Host))}
	}
	return v, nil
}

// askedTogether gives the same fact of all hosts that a script has asked for with one, which it is going
// to want next.
func (e *expressions) askedTogether(f expr.HostFact, pattern string) []expr.HostFact {
	list := []expr.HostFact{f}
	for _, name := range e.listed(pattern) {
		if name != f.Host {
			list = append(list, expr.HostFact{Host: name, Name: f.Name, IsNow: f.IsNow})
		}
	}
	return list
}

// listed gives the names of the hosts that a pattern names.
func (e *expressions) listed(pattern string) []string {
	lists := e.hosts.lists
	if lists == nil {
		lists = e.listsOfHosts()
	}
	return lists.Names(pattern)
}
