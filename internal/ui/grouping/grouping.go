// Package grouping puts the rows of many hosts' plans together: rows about the same that say the
// same are one row, and so are rows that differ in values alone, which then has the values of
// each host. What comes in and goes out is plain data, and nothing is lost: see Ungroup.
package grouping

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/states"
)

// Row is a row of the plans of some hosts, who say the same by it but for values.
type Row struct {
	Row states.Event `json:"row"` // as the first of the hosts says it
	// Subject is the same for rows about the same, such as one part, of which hosts say
	// different things.
	Subject int     `json:"subject"`
	Hosts   []int   `json:"hosts"`            // by their index, ascending
	At      []int   `json:"at"`               // where it stands in the plan of each of Hosts
	Fields  []Field `json:"fields,omitempty"` // in what they differ, in the order of its JSON

	leaves []leaf // of Row; nil where there are no Fields
}

// Field is a value of a row that is not the same on all its hosts.
type Field struct {
	Path   string `json:"path"`   // in the JSON of the row, such as "changes.0.diff.2" for a line of a diff
	Values []any  `json:"values"` // of each of the row's Hosts: text, a number or a boolean

	leaf int // its index among the row's leaves
}

// variant is what some hosts say of a subject, word by word.
type variant struct {
	row   states.Event
	hosts []int
	at    []int
}

// subject is what rows are about.
type subject struct {
	key      subjectKey
	variants []*variant
	byText   map[string]*variant
	next     *subject // in the order of the plans
}

// subjectKey tells subjects apart; what one plan has several rows about is numbered.
type subjectKey struct {
	typ, address, invocation, part string
	number                         int
}

// Group groups the rows of plans, one of each host. Rows come in an order that is that of each
// plan as far as plans agree.
func Group(plans [][]states.Event) ([]Row, error) {
	first := &subject{} // before all others
	known := map[subjectKey]*subject{}
	for host, rows := range plans {
		last, numbers := first, map[subjectKey]int{}
		for at, row := range rows {
			key := subjectKey{typ: row.Type, address: row.Address, invocation: row.Invocation, part: row.Part}
			key.number, numbers[key] = numbers[key], numbers[key]+1
			s := known[key]
			if s == nil {
				s = &subject{key: key, byText: map[string]*variant{}, next: last.next}
				known[key], last.next = s, s
			}
			if err := s.add(row, host, at); err != nil {
				return nil, err
			}
			last = s
		}
	}
	var out []Row
	number := 0
	for s := first.next; s != nil; s = s.next {
		rows, err := merge(s.variants)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].Subject = number
		}
		out = append(out, rows...)
		number++
	}
	return out, nil
}

// add takes what a host says.
func (s *subject) add(row states.Event, host, at int) error {
	text, err := encode(row)
	if err != nil {
		return err
	}
	v := s.byText[string(text)]
	if v == nil {
		v = &variant{row: row}
		s.byText[string(text)] = v
		s.variants = append(s.variants, v)
	}
	v.hosts, v.at = append(v.hosts, host), append(v.at, at)
	return nil
}

// merge makes one row of those that differ in values alone.
func merge(variants []*variant) ([]Row, error) {
	if len(variants) == 1 {
		v := variants[0]
		return []Row{{Row: v.row, Hosts: v.hosts, At: v.at}}, nil
	}
	type group struct {
		variants []*variant
		leaves   [][]leaf
	}
	byShape := map[string]*group{}
	var order []*group
	for _, v := range variants {
		leaves, shape, err := flatten(v.row)
		if err != nil {
			return nil, err
		}
		g := byShape[shape]
		if g == nil {
			g = &group{}
			byShape[shape] = g
			order = append(order, g)
		}
		g.variants, g.leaves = append(g.variants, v), append(g.leaves, leaves)
	}
	out := make([]Row, 0, len(order))
	for _, g := range order {
		out = append(out, together(g.variants, g.leaves))
	}
	return out, nil
}

// together makes one row of variants of the same shape.
func together(variants []*variant, leaves [][]leaf) Row {
	type place struct{ host, at, variant int }
	var places []place
	for i, v := range variants {
		for k, host := range v.hosts {
			places = append(places, place{host, v.at[k], i})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return a.host - b.host })
	first := places[0].variant
	r := Row{Row: variants[first].row, leaves: leaves[first]}
	for _, p := range places {
		r.Hosts, r.At = append(r.Hosts, p.host), append(r.At, p.at)
	}
	for i := range r.leaves {
		if !slices.ContainsFunc(leaves, func(l []leaf) bool { return l[i].value != r.leaves[i].value }) {
			continue
		}
		f := Field{Path: r.leaves[i].path, leaf: i}
		for _, p := range places {
			f.Values = append(f.Values, leaves[p.variant][i].value)
		}
		r.Fields = append(r.Fields, f)
	}
	if len(r.Fields) == 0 {
		r.leaves = nil
	}
	return r
}

// Of gives the row of one host, by its index in Hosts.
func (r *Row) Of(i int) (states.Event, error) {
	return r.With(func(f *Field) any { return f.Values[i] })
}

// With gives the row with other values in the place of those that differ. The error is for
// values that cannot stand there.
func (r *Row) With(value func(f *Field) any) (states.Event, error) {
	if len(r.Fields) == 0 {
		return r.Row, nil
	}
	leaves := slices.Clone(r.leaves)
	for i := range r.Fields {
		leaves[r.Fields[i].leaf].value = value(&r.Fields[i])
	}
	return unflatten(leaves)
}

// UnmarshalJSON is json.Unmarshaler's. What no rows could be grouped to is an error.
func (r *Row) UnmarshalJSON(data []byte) error {
	type plain Row
	var out plain
	if err := decode(data, &out); err != nil {
		return err
	}
	leaves, _, err := flatten(out.Row)
	if err != nil {
		return err
	}
	isWhole := len(out.At) == len(out.Hosts)
	for i := range out.Fields {
		f := &out.Fields[i]
		f.leaf = slices.IndexFunc(leaves, func(l leaf) bool {
			return l.path == f.Path && slices.Contains([]kind{text, line, number, truth}, l.kind)
		})
		isWhole = isWhole && f.leaf >= 0 && len(f.Values) == len(out.Hosts) && !slices.ContainsFunc(f.Values, func(v any) bool {
			return reflect.TypeOf(v) != reflect.TypeOf(leaves[f.leaf].value)
		})
	}
	if !isWhole {
		return fmt.Errorf("a row of plans, of %s, is not whole", out.Row.Address)
	}
	if len(out.Fields) > 0 {
		out.leaves = leaves
	}
	*r = Row(out)
	return nil
}

// Ungroup gives back the rows of so many plans.
func Ungroup(rows []Row, plans int) ([][]states.Event, error) {
	out := make([][]states.Event, plans)
	for i := range rows {
		r := &rows[i]
		for k, host := range r.Hosts {
			if host < 0 || host >= plans || r.At[k] < 0 || r.At[k] >= len(rows) {
				return nil, fmt.Errorf("a row of plans, of %s, is the one with number %d of host %d", r.Row.Address, r.At[k], host)
			}
			ev, err := r.Of(k)
			if err != nil {
				return nil, err
			}
			if missing := r.At[k] + 1 - len(out[host]); missing > 0 {
				out[host] = append(out[host], make([]states.Event, missing)...)
			}
			out[host][r.At[k]] = ev
		}
	}
	return out, nil
}

func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	if err := plainjson.NewEncoder(&out).Encode(v); err != nil {
		return nil, fmt.Errorf("a row of a plan: %w", err)
	}
	return out.Bytes(), nil
}

func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}
