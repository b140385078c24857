package deploy

import (
	"hash/maphash"
	"maps"
	"slices"
	"time"
)

// valueTable has each value once that was read for some host of a site, and knows which of them are others by now.
type valueTable struct {
	seed   maphash.Seed
	values []Value
	places map[uint64]uint32   // by the hash of a value; where two have the same, the second one has the next that is free
	of     map[string][]uint32 // by the host whose they are
	names  map[string]string   // so that each is in memory once
	live   int                 // how many there were when those that nobody has read any more were left out last

	view    *hostView // as of which others are known, as far as it had been told that
	told    int
	checked int // how many of the values have been looked at
	others  []otherValue
}

// otherValue is the place of a value that is another one by now, and since when.
type otherValue struct {
	place uint32
	since time.Time
}

func newValueTable() *valueTable {
	return &valueTable{seed: maphash.MakeSeed(), places: map[uint64]uint32{}, of: map[string][]uint32{}, names: map[string]string{}}
}

// take gives the same values as spans of this table.
func (t *valueTable) take(r Reads) Reads {
	places := make([]uint32, 0, r.size())
	for v := range r.all() {
		places = append(places, t.place(v))
	}
	slices.Sort(places)
	var spans []span
	for _, place := range places {
		spans = addSpan(spans, span{place, place + 1})
	}
	return Reads{table: t, spans: slices.Clip(spans)}
}

// addSpan adds one that does not begin before those that are there.
func addSpan(list []span, s span) []span {
	if n := len(list); n > 0 && s.from <= list[n-1].to {
		list[n-1].to = max(list[n-1].to, s.to)
		return list
	}
	return append(list, s)
}

// place gives where a value is. One that is new comes behind all others.
func (t *valueTable) place(v Value) uint32 {
	hash := maphash.Comparable(t.seed, v)
	for ; ; hash++ {
		place, known := t.places[hash]
		if !known {
			break
		}
		if t.values[place] == v {
			return place
		}
	}
	place := uint32(len(t.values))
	if same := t.of[v.Host]; len(same) > 0 {
		v.Host = t.values[same[0]].Host
	}
	if name, known := t.names[v.Name]; known {
		v.Name = name
	} else {
		t.names[v.Name] = v.Name
	}
	t.values = append(t.values, v)
	t.places[hash], t.of[v.Host] = place, append(t.of[v.Host], place)
	return place
}

// look finds out which values are others by now: of hosts that have told nothing since it did so last it knows that.
func (t *valueTable) look(v *hostView) {
	if t.view == v && t.told == v.told && t.checked == len(t.values) {
		return
	}
	others := map[uint32]time.Time{}
	check := func(place uint32) {
		delete(others, place)
		value := t.values[place]
		if v.isSo(value) {
			return
		}
		others[place] = v.since[value.Host]
		if value.IsOutput {
			others[place] = v.given[value.Host]
		}
	}
	if t.view != v {
		t.checked = 0
	} else {
		for _, o := range t.others {
			others[o.place] = o.since
		}
		for host, places := range t.of {
			if v.toldBy[host] > t.told {
				for _, place := range places {
					check(place)
				}
			}
		}
	}
	for ; t.checked < len(t.values); t.checked++ {
		check(uint32(t.checked))
	}
	t.view, t.told, t.others = v, v.told, t.others[:0]
	for _, place := range slices.Sorted(maps.Keys(others)) {
		t.others = append(t.others, otherValue{place, others[place]})
	}
}

// manyValues is how many a table has at least before it is looked at for values that nobody has read any more.
const manyValues = 1000

// shrinkValues leaves out values that no host has read any more, once they may be half of all.
func (k *keptSite) shrinkValues() {
	if len(k.values.values) >= max(manyValues, 2*k.values.live) {
		k.dropUnread()
	}
}

// dropUnread leaves them out. The others stand in the order of before, so that spans remain spans.
func (k *keptSite) dropUnread() {
	isRead := make([]bool, len(k.values.values))
	k.eachRead(func(r Reads) Reads {
		for _, s := range r.spans {
			for place := s.from; place < s.to; place++ {
				isRead[place] = true
			}
		}
		return r
	})
	fresh, moved := newValueTable(), make([]uint32, len(isRead))
	for place, is := range isRead {
		if is {
			moved[place] = fresh.place(k.values.values[place])
		}
	}
	k.eachRead(func(r Reads) Reads {
		var spans []span
		for _, s := range r.spans {
			spans = addSpan(spans, span{moved[s.from], moved[s.to-1] + 1})
		}
		return Reads{table: fresh, spans: slices.Clip(spans)}
	})
	fresh.live = len(fresh.values)
	k.values = fresh
}

// eachRead has a function give what takes the place of what was read for each host.
func (k *keptSite) eachRead(each func(Reads) Reads) {
	for _, prepared := range k.prepared {
		for _, p := range prepared {
			p.Read = each(p.Read)
		}
	}
}
