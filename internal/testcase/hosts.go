package testcase

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
)

// hostMachine is the machine of one of the hosts that a case is about.
type hostMachine struct {
	name string
	*machineBlock
}

// machines makes the machine of a case, or those of the hosts that it is about.
func (d *decoder) machines(b *block, shared map[string]*machineBlock) (*machineBlock, []hostMachine) {
	var plain *block
	var hosts []hostMachine
	first := map[string]diag.Range{}
	for _, m := range b.blocksOf("machine") {
		before, twice := first[m.label]
		if !twice {
			first[m.label] = m.at
		}
		switch {
		case twice && m.label == "":
			d.list.Add(diag.Diagnostic{Summary: "machine stands twice", Range: m.at,
				Hint: `write all into one block, or name the host of each: machine "HOST" { … }`, Related: []diag.Related{{Message: "here first", Range: before}}})
		case twice:
			d.twice(m, "the machine", before)
		case m.label == "":
			plain = m
		default:
			hosts = append(hosts, hostMachine{m.label, d.machine(m, shared)})
		}
	}
	if len(hosts) == 0 {
		return d.machine(plain, shared), nil
	}
	if plain != nil {
		d.list.Add(diag.Diagnostic{Summary: "a machine without a host stands beside those of hosts", Range: plain.at, Hint: `write machine "HOST" { … }`})
	}
	if f, given := b.fields["host"]; given {
		d.list.Add(diag.Diagnostic{Summary: "the case has machines of hosts, and names a host", Range: f.name,
			Hint: "take host away: the case is about the hosts that have machines"})
	}
	return d.machine(nil, shared), hosts
}

// checkHosts holds each expectation of a case about hosts to name one of them, and those of other
// cases to name none.
func (d *decoder) checkHosts(c *Case) {
	f := c.block.fields["hosts"]
	all := the[map[string]any](c.block, "hosts")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, facts := all[name].(map[string]any)["facts"]; facts && len(c.hosts) == 0 && name == the[string](c.block, "host") {
			d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("hosts has the facts of %s, which the case is about", name), Range: f.at,
				Hint: "the facts of a case about one machine are facts = { … }"})
		}
	}
	first := map[string]diag.Range{}
	for _, b := range c.block.blocks {
		if _, known := b.fields["host"]; b.word == "expect_rollout" || !isExpectation(b) {
			if b.word == "expect_rollout" && len(c.hosts) == 0 {
				d.list.Add(diag.Diagnostic{Summary: "expect_rollout stands in a case about one machine", Range: b.at,
					Hint: `give each host that takes part its machine: machine "HOST" { … }`})
			}
			continue
		} else if known != (len(c.hosts) > 0) {
			d.wrongHost(c, b)
			continue
		}
		name := the[string](b, "host")
		if at, twice := first[b.word+" "+name]; twice {
			d.list.Add(diag.Diagnostic{Summary: of(b.word, name) + " stands twice", Range: b.at,
				Hint: "write all into one block", Related: []diag.Related{{Message: "here first", Range: at}}})
		}
		first[b.word+" "+name] = b.at
		if len(c.hosts) > 0 && !slices.Contains(c.hostNames(), name) {
			d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the case has no machine of the host %q", name), Range: b.fields["host"].at,
				Hint: nearest(name, c.hostNames())})
		}
	}
}

func of(word, host string) string {
	if host == "" {
		return word
	}
	return fmt.Sprintf("%s of %s", word, host)
}

// wrongHost reports an expectation that names a host and should not, or the other way round.
func (d *decoder) wrongHost(c *Case, b *block) {
	if len(c.hosts) > 0 {
		d.list.Add(diag.Diagnostic{Summary: b.word + " does not say of which host", Range: b.at,
			Hint: fmt.Sprintf("write host = %q into it", c.hosts[0].name)})
		return
	}
	d.list.Add(diag.Diagnostic{Summary: b.word + " names a host in a case about one machine", Range: b.fields["host"].name,
		Hint: `take it away, or give each host its machine: machine "HOST" { … }`})
}

// isExpectation reports whether the block says what is expected of a stage.
func isExpectation(b *block) bool {
	return slices.Contains(stages(), stageOf(b))
}

// hostNames lists the hosts that the case is about.
func (c *Case) hostNames() []string {
	var names []string
	for _, h := range c.hosts {
		names = append(names, h.name)
	}
	return names
}

// hostBlock is what a case says of one of its hosts. That a site is to be refused, or to warn, is said of
// all together.
func hostBlock(whole *block, h hostMachine) *block {
	out := &block{word: whole.word, label: whole.label, at: whole.at, fields: maps.Clone(whole.fields)}
	delete(out.fields, "expect_error")
	delete(out.fields, "expect_warning")
	out.fields["host"] = field{value: h.name, at: h.at, name: h.at}
	if of, given := the[map[string]any](whole, "hosts")[h.name].(map[string]any); given {
		own, _ := of["facts"].(map[string]any)
		out.fields["facts"] = field{value: mergedDeep(the[map[string]any](whole, "facts"), own), at: whole.fields["hosts"].at}
	}
	for _, b := range whole.blocks {
		if isExpectation(b) && the[string](b, "host") == h.name {
			out.blocks = append(out.blocks, b)
		}
	}
	return out
}

// mergedDeep gives a with b over it: objects key by key, anything else as a whole.
func mergedDeep(a, b map[string]any) map[string]any {
	out := merged(a, b)
	for name, value := range b {
		below, isObject := a[name].(map[string]any)
		if over, ok := value.(map[string]any); ok && isObject {
			out[name] = mergedDeep(below, over)
		}
	}
	return out
}
