package deploy

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/trust"
)

// What is kept of values that hosts read of each other grows as hosts and values do, and not as their product; what is stale is found as before.
func TestReadEachOther(t *testing.T) {
	const n = 300
	f := newFleet(t, n)
	f.readEachOther()
	f.finish(f.deploy("one").ID)
	round := func() {
		t.Helper()
		_, err := f.Round(t.Context())
		f.must(err)
	}
	check := func(when string) {
		t.Helper()
		k, read, spans := f.Service.kept["shop"], 0, 0
		k.eachRead(func(r Reads) Reads {
			read, spans = read+r.size(), spans+len(r.spans)
			return r
		})
		if values := len(k.values.values); read != n*(n+9) || values > 12*n || spans > 6*n { // each reads ten facts of its own, of which others read one
			t.Errorf("%s: %d values that were read are kept as %d, and by %d spans", when, read, values, spans)
		}
	}
	check("evaluated")
	delete(f.Service.kept, "shop")
	round()
	check("read from the store")
	for i := range 3 {
		f.evaluated = 0
		f.now = f.now.Add(Between)
		f.tellFact(100*i, "another one")
		round()
		if f.evaluated != n {
			t.Errorf("a fact of which all have read is another one, and %d are evaluated", f.evaluated)
		}
		check("a fact is another one")
	}
}

// tableModel is a table, and what it is to say.
type tableModel struct {
	*keptSite
	view *hostView
	now  time.Time
	read map[trust.ID][]Value
}

// tell has a host tell a fact or an output.
func (m *tableModel) tell(t *rapid.T) {
	of, since := m.view.facts, m.view.since
	if rapid.Bool().Draw(t, "output") {
		of, since = m.view.outputs, m.view.given
	}
	host, name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "host"), rapid.SampledFrom([]string{"os", "ip"}).Draw(t, "name")
	if of[host] == nil {
		of[host] = map[string]json.RawMessage{}
	}
	of[host][name] = json.RawMessage(fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "value")))
	m.now = m.now.Add(time.Second)
	since[host] = m.now
	m.view.hasTold(host)
}

// evaluate has what was prepared for a host have read some values as they are.
func (m *tableModel) evaluate(t *rapid.T) {
	var list []Value
	for _, host := range []string{"a", "b", "c", "gone"} {
		for _, name := range []string{"", "os", "ip"} {
			for _, isOutput := range []bool{true, false} {
				if rapid.Bool().Draw(t, "reads") {
					list = append(list, Value{Host: host, Name: name, IsOutput: isOutput}.In(m.view.facts, m.view.outputs))
				}
			}
		}
	}
	id := rapid.SampledFrom([]trust.ID{"x", "y", "z"}).Draw(t, "reader")
	m.read[id] = list
	m.keep(preparedOf{}, &Prepared{Host: id, Read: Reads{list: list}})
}

// check compares them.
func (m *tableModel) check(t *rapid.T) {
	for id, p := range m.prepared[preparedOf{}] {
		got := slices.Collect(p.Read.all())
		isIn := func(v Value) bool { return slices.Contains(m.read[id], v) }
		if len(got) != len(m.read[id]) || slices.ContainsFunc(got, func(v Value) bool { return !isIn(v) }) {
			t.Fatalf("%s has read %+v, and not %+v", id, m.read[id], got)
		}
		want := reading{view: m.view, told: m.view.told}
		for _, v := range m.read[id] {
			since := m.view.since[v.Host]
			if v.IsOutput {
				since = m.view.given[v.Host]
			}
			if v.In(m.view.facts, m.view.outputs) != v && (!want.isOther || since.Before(want.since)) {
				want.isOther, want.since = true, since
			}
		}
		if r := p.look(m.view); *r != want {
			t.Fatalf("%s: what it has read is %+v, and not %+v", id, want, *r)
		}
		data, err := json.Marshal(p.Read)
		var again Reads
		if err == nil {
			err = json.Unmarshal(data, &again)
		}
		if err != nil || !slices.Equal(again.list, got) {
			t.Fatalf("%s is written as %s: %v", id, data, err)
		}
	}
}

// A table says of each host what it has read, and whether that is so still, whatever was told, read anew and left out.
func TestValueTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &tableModel{keptSite: &keptSite{values: newValueTable(), prepared: map[preparedOf]map[trust.ID]*Prepared{}}, now: time.Unix(1.7e9, 0).UTC(), read: map[trust.ID][]Value{}}
		renew := func(*rapid.T) {
			former := m.view
			m.view = &hostView{facts: values{}, outputs: values{}, since: map[string]time.Time{}, given: map[string]time.Time{}, toldBy: map[string]int{}}
			if former != nil {
				m.view.facts, m.view.outputs, m.view.since, m.view.given = former.facts, former.outputs, former.since, former.given
			}
		}
		renew(t)
		t.Repeat(map[string]func(*rapid.T){"tell": m.tell, "evaluate": m.evaluate, "renew": renew, "": m.check,
			"drop": func(t *rapid.T) {
				m.dropUnread()
				read := map[Value]bool{}
				for _, list := range m.read {
					for _, v := range list {
						read[v] = true
					}
				}
				if len(m.values.values) != len(read) {
					t.Fatalf("%d values are read, and %d are there", len(read), len(m.values.values))
				}
			}})
	})
}

// Values that nobody has read any more are left out before they are many more than the others.
func TestValuesAreBounded(t *testing.T) {
	k := &keptSite{values: newValueTable(), prepared: map[preparedOf]map[trust.ID]*Prepared{}}
	for i := range 20 * manyValues {
		v := Value{Host: "a", Name: "load", Digest: trust.DigestOf(fmt.Append(nil, i))}
		k.notePrepared(preparedOf{}, []*Prepared{{Host: "x", Read: Reads{list: []Value{v}}}}, k.version+1)
	}
	if n := len(k.values.values); n > manyValues {
		t.Errorf("%d values are kept, of which one is read", n)
	}
}
