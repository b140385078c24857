package sandbox

import "go.starlark.net/starlark"

const slot = 16 // bytes that one reference takes

// shallowSize is the size of a value less its elements.
func shallowSize(v starlark.Value) int64 {
	switch v := v.(type) {
	case starlark.String:
		return int64(len(v))
	case starlark.Bytes:
		return int64(len(v))
	case starlark.Int:
		if _, small := v.Int64(); small {
			return slot
		}
		return int64(v.BigInt().BitLen()/8) + slot
	case starlark.Sequence:
		return slot * int64(v.Len())
	}
	return slot
}

// weigher adds up a value with all that it holds, as often as it holds it, as
// functions that walk through it would.
type weigher struct {
	budget int64 // before it is too much
	deep   int
}

// maxDepth is how deep values may be nested for a function that walks through.
const maxDepth = 500

// weigh gives the size of a value with all that it holds, and MaxValue+1 when
// it is larger, or nested too deep.
func weigh(v starlark.Value) int64 {
	w := weigher{budget: MaxValue}
	if !w.add(v) {
		return MaxValue + 1
	}
	return MaxValue - w.budget
}

// CheckValue refuses a value that holds too much, or is nested too deep, for Go
// code that walks through all of it.
func CheckValue(v starlark.Value) error { return checkSize(weigh(v), "the value") }

func (w *weigher) add(v starlark.Value) bool {
	w.budget -= slot
	switch v := v.(type) {
	case starlark.String, starlark.Bytes, starlark.Int:
		w.budget -= shallowSize(v)
	case starlark.IterableMapping:
		return w.addMapping(v)
	case starlark.Sequence:
		w.budget -= slot * int64(v.Len())
		if !w.enter() {
			return false
		}
		defer w.leave()
		for element := range starlark.Elements(v) {
			if !w.add(element) {
				return false
			}
		}
	}
	return w.budget >= 0
}

func (w *weigher) addMapping(v starlark.IterableMapping) bool {
	if !w.enter() {
		return false
	}
	defer w.leave()
	if s, ok := v.(starlark.Sequence); ok && slot*int64(s.Len()) > w.budget {
		return false
	}
	for _, item := range v.Items() {
		if !w.add(item[0]) || !w.add(item[1]) {
			return false
		}
	}
	return w.budget >= 0
}

func (w *weigher) enter() bool {
	w.deep++
	return w.budget >= 0 && w.deep <= maxDepth
}

func (w *weigher) leave() { w.deep-- }

// Admit counts a value that a function of the client has made, as those of
// Starlark are counted.
func Admit(thread *starlark.Thread, v starlark.Value) error {
	if err := CheckValue(v); err != nil {
		return err
	}
	return charge(thread, weigh(v))
}

// admit takes what an operation has made: it counts it, and refuses tuples
// that would take forever to hash, since nothing looks at them again before a
// dict does.
func admit(thread *starlark.Thread, v starlark.Value) error {
	if err := charge(thread, shallowSize(v)); err != nil {
		return err
	}
	switch v := v.(type) {
	case starlark.Tuple:
		return admitTuple(v)
	case *starlark.List:
		for i := range v.Len() {
			if t, ok := v.Index(i).(starlark.Tuple); ok {
				if err := admitTuple(t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func admitTuple(t starlark.Tuple) error {
	w := weigher{budget: MaxValue}
	if !w.addTuple(t) {
		return tooLarge("a tuple")
	}
	return nil
}

// addTuple adds up what hashing a tuple looks at.
func (w *weigher) addTuple(t starlark.Tuple) bool {
	w.budget -= slot * int64(len(t)+1)
	if !w.enter() {
		return false
	}
	defer w.leave()
	for _, v := range t {
		switch v := v.(type) {
		case starlark.Tuple:
			if !w.addTuple(v) {
				return false
			}
		case starlark.String, starlark.Bytes:
			w.budget -= shallowSize(v)
		}
	}
	return w.budget >= 0
}
