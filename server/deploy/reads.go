package deploy

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"time"
)

// Reads are the values that an evaluation has read. Where many hosts read each other they are as many as the square of the hosts: those that are kept in memory are therefore
// spans of a table, which hosts share. Wherever else they are a list.
type Reads struct {
	list  []Value
	table *valueTable // nil: the list has them
	spans []span
}

// span are values of a table that follow one another.
type span struct{ from, to uint32 }

// all gives them; those of a table in its order.
func (r Reads) all() iter.Seq[Value] {
	if r.table == nil {
		return slices.Values(r.list)
	}
	return func(yield func(Value) bool) {
		for _, s := range r.spans {
			for _, v := range r.table.values[s.from:s.to] {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// size is how many they are.
func (r Reads) size() int {
	n := len(r.list)
	for _, s := range r.spans {
		n += int(s.to - s.from)
	}
	return n
}

// IsZero reports whether nothing was read.
func (r Reads) IsZero() bool { return r.size() == 0 }

// MarshalJSON writes a list.
func (r Reads) MarshalJSON() ([]byte, error) { return json.Marshal(slices.Collect(r.all())) }

// UnmarshalJSON reads a list.
func (r *Reads) UnmarshalJSON(data []byte) error {
	*r = Reads{}
	return json.Unmarshal(data, &r.list)
}

// since tells whether one of them, which are in a table, is another one by now, and since when.
func (r Reads) since(v *hostView) (since time.Time, isOther bool) {
	if r.IsZero() {
		return since, false
	}
	r.table.look(v)
	others := r.table.others
	for _, s := range r.spans {
		i, _ := slices.BinarySearchFunc(others, s.from, func(o otherValue, place uint32) int { return cmp.Compare(o.place, place) })
		for ; i < len(others) && others[i].place < s.to; i++ {
			if !isOther || others[i].since.Before(since) {
				isOther, since = true, others[i].since
			}
		}
	}
	return since, isOther
}
